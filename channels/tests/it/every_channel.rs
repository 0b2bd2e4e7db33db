//! every_channel
