//! Reference work: the same for all programs, it shows the machine's speed at one moment. It is here
//! since the runner, which does it, is not optimized.

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read, write};

use crate::machine::cpus;

/// How long to do the reference work: a fiftieth of a short invocation.
const SPAN: Duration = Duration::from_millis(1);
/// Repetitions between two readings of the clock.
const BATCH: u32 = 16;

/// The time to write a byte to a pipe and to read it on this CPU, in nanoseconds; `None` if the
/// machine does not allow that. The calling thread stays on the CPU.
pub fn kernel_ns(cpu: usize) -> Option<f64> {
    cpus::confine(&[cpu]).ok()?;
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).ok()?;
    let mut byte = [0];
    let started = Instant::now();
    for count in 1_u32.. {
        for _ in 0..BATCH {
            write(writer.as_fd(), &byte).ok()?;
            read(&reader, &mut byte).ok().filter(|count| *count == 1)?;
        }
        let elapsed = started.elapsed();
        if elapsed >= SPAN {
            return Some(elapsed.as_nanos() as f64 / f64::from(count * BATCH));
        }
    }
    None
}
