//! Keeping values of different CPUs apart.

/// A value that shares no cache line: some CPUs have lines of 128 bytes, or fetch two of 64 at once.
#[repr(align(128))]
#[derive(Debug, Default)]
pub struct Apart<T>(pub T);
