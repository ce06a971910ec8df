//! Work that belongs to no program, done before every invocation: it shows how fast the
//! machine is at that moment.

use std::fs;
use std::hint::black_box;
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use harness::cpus;
use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read, write};

use crate::store::invocation::Reference;

/// How long each kind of work is done: together a fiftieth of a short invocation.
const SPAN: Duration = Duration::from_millis(1);

/// Repetitions between two looks at the clock.
const BATCH: u32 = 16;

/// Bytes of a cache line; `u32` in it.
const LINE: usize = 64;
const WORDS: usize = LINE / 4;

/// The size of a second-level cache that the kernel does not report, in bytes.
const UNKNOWN_CACHE: usize = 1 << 20;

/// The reference before the invocation with this `index`, on each of `cpus` in
/// turn. `None` where the machine does not let it be measured, which is no reason
/// to end a run.
pub fn reference(cpus: &[usize], index: usize) -> Option<Reference> {
    let cpu = *cpus.get(index.checked_rem(cpus.len())?)?;
    static WALK: OnceLock<Vec<u32>> = OnceLock::new();
    let walk = WALK.get_or_init(|| walk_of(second_level_cache(cpu) / 2));
    // The runner's own thread stays free, and so does what it starts.
    thread::scope(|scope| scope.spawn(|| on(cpu, walk)).join().ok().flatten())
}

fn on(cpu: usize, walk: &[u32]) -> Option<Reference> {
    cpus::confine(&[cpu]).ok()?;
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).ok()?;
    let mut byte = [0];
    let kernel_ns = mean_ns(|| {
        write(writer.as_fd(), &byte).ok()?;
        read(&reader, &mut byte).ok().filter(|count| *count == 1).map(drop)
    })?;
    let mut at = 0;
    let walk_ns = mean_ns(|| {
        for _ in 0..BATCH {
            at = walk[at as usize];
        }
        Some(())
    })? / f64::from(BATCH);
    black_box(at);
    Some(Reference { cpu, kernel_ns, walk_ns: Some(walk_ns) })
}

/// A cycle in random order through all cache lines of a buffer of `bytes`: each word says
/// where the next one is.
fn walk_of(bytes: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..(bytes / LINE).max(2)).map(|line| line * WORDS).collect();
    // Any order that a prefetcher does not guess, and the same one in every run.
    Rng::with_seed(1).shuffle(&mut order);
    let mut walk = vec![0; order.len() * WORDS];
    for (from, to) in order.iter().zip(order.iter().cycle().skip(1)) {
        walk[*from] = *to as u32;
    }
    walk
}

/// The size of the second-level cache of `cpu`, in bytes.
fn second_level_cache(cpu: usize) -> usize {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index2/size");
    let size = fs::read_to_string(file).unwrap_or_default();
    let kibibytes = size.trim().strip_suffix('K').and_then(|size| size.parse::<usize>().ok());
    kibibytes.map_or(UNKNOWN_CACHE, |size| size.saturating_mul(1024)).clamp(LINE, 1 << 26)
}

/// The mean time of `operation` over the span, in nanoseconds; `None` where it
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
            let Reference { cpu, kernel_ns, walk_ns } = reference(&cpus, index).unwrap();
            assert_eq!(cpu, cpus[index % cpus.len()]);
            assert!(kernel_ns > 0.0 && walk_ns > Some(0.0), "{kernel_ns} {walk_ns:?}");
        }
        assert_eq!(cpus::allowed().unwrap(), cpus, "this thread stays free");
        assert_eq!(reference(&[], 3), None);
    }

    #[test]
    fn a_walk_visits_every_line_once_before_it_returns() {
        for bytes in [0, 128, 4096, 1 << 20] {
            let walk = walk_of(bytes);
            let (mut at, mut steps) = (walk[0], 1);
            while at != 0 {
                assert_eq!(at as usize % WORDS, 0);
                at = walk[at as usize];
                steps += 1;
            }
            assert_eq!(steps, (bytes / LINE).max(2));
        }
    }
}
