//! delivering
