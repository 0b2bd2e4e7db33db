//! returning
