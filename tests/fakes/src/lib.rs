//! Loopback Discord, Telegram and model servers, for tests, the demo and the benchmark. Nothing here is part of
//! the product.

pub mod discord;
pub mod model;
pub mod telegram;
mod testsets;

pub use testsets::testset;
