//! Reference work before every invocation, the same for all programs: it shows the machine's speed
//! at that moment.

use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use harness::cpus;
use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read, write};

use crate::store::invocation::Reference;

/// Its duration: a fiftieth of a short invocation.
const SPAN: Duration = Duration::from_millis(1);

/// Repetitions between two reads of the clock.
const BATCH: u32 = 16;

/// The reference before the invocation with this `index`, on each of `cpus` in turn. `None` if the
/// machine does not allow the measurement; the run continues.
pub fn reference(cpus: &[usize], index: usize) -> Option<Reference> {
    let cpu = *cpus.get(index.checked_rem(cpus.len())?)?;
    // On a separate thread, so that the runner's affinity, which children
    // inherit, does not change.
    thread::scope(|scope| scope.spawn(|| on(cpu)).join().ok().flatten())
}

fn on(cpu: usize) -> Option<Reference> {
    cpus::confine(&[cpu]).ok()?;
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).ok()?;
    let mut byte = [0];
    let kernel_ns = mean_ns(|| {
        write(writer.as_fd(), &byte).ok()?;
        read(&reader, &mut byte).ok().filter(|count| *count == 1).map(drop)
    })?;
    Some(Reference { cpu, kernel_ns })
}

/// The mean time of `operation` over the span, in nanoseconds; `None` if it
/// fails.
fn mean_ns(mut operation: impl FnMut() -> Option<()>) -> Option<f64> {
    let start = Instant::now();
    let mut count = 0;
    loop {
        for _ in 0..BATCH {
            operation()?;
        }
        count += BATCH;
        let elapsed = start.elapsed();
        if elapsed >= SPAN {
            return Some(elapsed.as_nanos() as f64 / f64::from(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_gets_its_turn() {
        let cpus = cpus::allowed().unwrap();
        for index in 0..2 * cpus.len() {
            let Reference { cpu, kernel_ns } = reference(&cpus, index).unwrap();
            assert_eq!(cpu, cpus[index % cpus.len()]);
            assert!(kernel_ns > 0.0);
        }
        assert_eq!(cpus::allowed().unwrap(), cpus, "the runner's thread is not confined");
        assert_eq!(reference(&[], 3), None);
    }
}
