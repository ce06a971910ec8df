//! Memory that both sides see, be they threads or processes.

use std::{io, ptr};

/// Puts `value` into memory that this process shares with its forks. It stays
/// mapped until the process ends.
pub fn shared<T: Sync>(value: T) -> io::Result<&'static T> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, at an address of the kernel's choice, overlaps
    // nothing.
    let memory = unsafe { libc::mmap(ptr::null_mut(), size_of::<T>(), protection, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let memory = memory.cast::<T>();
    // SAFETY: the mapping is writable, large enough, and aligned to a page.
    // It is never unmapped, and nothing else refers to it yet.
    Ok(unsafe {
        memory.write(value);
        &*memory
    })
}
