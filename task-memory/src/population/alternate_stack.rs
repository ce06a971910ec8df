//! The alternate signal stack that the standard library gives to a thread.

use std::io;
use std::ptr::{self, NonNull};

/// The least that the standard library takes (`SIGSTKSZ`), in bytes.
const LEAST_BYTES: usize = 8 << 10;
/// A guard page, in bytes.
const GUARD_BYTES: usize = 4 << 10;

/// An alternate signal stack above a guard page, in force for the thread that
/// made it.
pub struct AlternateStack {
    /// Where the guard begins.
    start: NonNull<libc::c_void>,
    /// With the guard.
    bytes: usize,
}

impl AlternateStack {
    /// Maps one and takes it into use. It is two maps, and past
    /// `vm.max_map_count` either call fails: where the standard library aborts
    /// the process, this returns the error.
    pub fn install() -> io::Result<Self> {
        // SAFETY: a call without arguments that could be wrong.
        let wanted = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
        let bytes = wanted.max(LEAST_BYTES).next_multiple_of(GUARD_BYTES) + GUARD_BYTES;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new map at an address that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start).expect("a map that is not at address 0");
        let stack = Self { start, bytes };
        // SAFETY: the first page of the map above, which nobody else knows.
        if unsafe { libc::mprotect(start.as_ptr(), GUARD_BYTES, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        stack.switch(0)?;
        Ok(stack)
    }

    fn switch(&self, flags: i32) -> io::Result<()> {
        let stack = libc::stack_t {
            // SAFETY: the guard is the beginning of a larger map.
            ss_sp: unsafe { self.start.as_ptr().byte_add(GUARD_BYTES) },
            ss_flags: flags,
            ss_size: self.bytes - GUARD_BYTES,
        };
        // SAFETY: the stack is mapped for as long as it is in force: drop takes
        // it out of force before it unmaps it.
        match unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        let _ = self.switch(libc::SS_DISABLE);
        // SAFETY: the map of `install`, which is no longer in use.
        unsafe { libc::munmap(self.start.as_ptr(), self.bytes) };
    }
}
