//! The loopback telegram server.
