//! interacting
