//! Pages and services out there.

mod web_fetch;

pub use web_fetch::{WebFetch, WebFetchArgs, WebFetchOutput, WebMethod};

#[cfg(test)]
mod tests;
