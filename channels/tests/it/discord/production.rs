//! production
