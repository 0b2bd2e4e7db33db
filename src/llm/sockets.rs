//! Whole requests over real sockets, against the loopback model server and its faults. Real time, short limits.
