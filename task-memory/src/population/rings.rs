//! Rings of io_uring, with both of their maps.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr;

use harness::limits::RING_ENTRIES;

/// Where the queues are mapped from (`IORING_OFF_SQ_RING`).
const QUEUES: libc::off_t = 0;
/// Where the submissions are mapped from (`IORING_OFF_SQES`).
const SUBMISSIONS: libc::off_t = 0x1000_0000;
/// Bytes of a submission.
const SUBMISSION_BYTES: usize = 64;
/// Bytes of an entry of the queue of submissions, which lies last.
const ENTRY_BYTES: usize = 4;
/// Words of `struct io_uring_params`.
const PARAMETER_WORDS: usize = 30;
/// The word with where the entries begin (`sq_off.array`).
const ENTRIES_AT: usize = 16;

/// A ring and its maps.
pub struct Ring {
    _ring: OwnedFd,
    _queues: Map,
    _submissions: Map,
}

/// Opens a ring and maps it.
pub fn open() -> io::Result<Ring> {
    let mut parameters = [0_u32; PARAMETER_WORDS];
    // SAFETY: the kernel reads and writes the parameters, which have the size
    // of `struct io_uring_params`.
    let number =
        unsafe { libc::syscall(libc::SYS_io_uring_setup, RING_ENTRIES, parameters.as_mut_ptr()) };
    let number = i32::try_from(number).unwrap_or(-1);
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was just opened and nobody else has.
    let ring = unsafe { OwnedFd::from_raw_fd(number) };
    let entries = RING_ENTRIES as usize;
    let queues = parameters[ENTRIES_AT] as usize + entries * ENTRY_BYTES;
    let queues = Map::of(&ring, queues, QUEUES)?;
    let submissions = Map::of(&ring, entries * SUBMISSION_BYTES, SUBMISSIONS)?;
    Ok(Ring { _queues: queues, _submissions: submissions, _ring: ring })
}

/// A part of a ring in this process's address space.
struct Map {
    start: *mut libc::c_void,
    bytes: usize,
}

impl Map {
    fn of(ring: &OwnedFd, bytes: usize, offset: libc::off_t) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let file = ring.as_raw_fd();
        // SAFETY: a new map at an address that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, file, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start, bytes })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the map of `of`, which nobody else knows.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}
