//! Loopback Discord, Telegram and model servers, and the product as a process between them, for tests, the demo and
//! the benchmark. Nothing here is part of the product.

pub mod discord;
pub mod model;
pub mod product;
pub mod storm;
pub mod telegram;
mod testsets;

pub use testsets::testset;
