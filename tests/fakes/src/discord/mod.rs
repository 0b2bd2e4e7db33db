//! The loopback discord server.
