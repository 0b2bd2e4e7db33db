//! The loopback model server.
