//! telegram
