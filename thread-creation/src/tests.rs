//! Assumptions behind cases of suite.toml.

use std::fs;

use harness::cpus;

use super::ends::{LAPS, uncounted_ns};
use super::{Flags, StackFlag, create, join_all};

const STACK: u64 = 1 << 20;

/// Bytes of address space in writable maps at least as large as a stack. The allocator's arenas,
/// whose number grows with that of CPUs, have smaller ones; their reserve is not writable.
fn writable() -> u64 {
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let writable = maps.lines().filter(|line| line.contains(" rw"));
    let ends = writable.filter_map(|line| line.split_once(' ')?.0.split_once('-'));
    let end = |hex| u64::from_str_radix(hex, 16).expect("an address");
    ends.map(|(from, to)| end(to) - end(from)).filter(|bytes| *bytes >= STACK).sum()
}

/// Address space of stacks left behind by laps of `tasks` threads: by the first
/// lap, and by one more.
fn stacks_left_behind(tasks: usize) -> [u64; 2] {
    let flags = Flags { stack: StackFlag { stack_size: STACK as usize } };
    [(); 2].map(|()| {
        let before = writable();
        let mut threads = Vec::new();
        create(&flags, tasks, &mut threads).expect("threads");
        join_all(&mut threads).expect("threads that end");
        writable().saturating_sub(before) / STACK
    })
}

fn measuring_ends_leaves_the_cpus_as_they_were() {
    let before = cpus::allowed().expect("affinity");
    let mut calls = 0;
    uncounted_ns(1, || {
        calls += 1;
        assert_eq!(cpus::allowed().expect("affinity").len(), 1);
        Ok(())
    })
    .expect("a figure");
    assert_eq!((calls, cpus::allowed().expect("affinity")), (LAPS, before.clone()));
    uncounted_ns(1, || anyhow::bail!("on purpose")).expect_err("a failure");
    assert_eq!(cpus::allowed().expect("affinity"), before);
}

/// In one test with the ends of threads, since address space belongs to the
/// process.
#[test]
fn few_threads_reuse_all_stacks_and_many_reuse_few() {
    let [first, second] = stacks_left_behind(20);
    assert!((20..=21).contains(&first), "{first} of 20 stacks are kept");
    assert_eq!(second, 0, "20 threads find no stack to reuse");
    let [first, _] = stacks_left_behind(200);
    assert!(first + 20 <= 41, "{first} of 200 stacks are kept besides 20");
    measuring_ends_leaves_the_cpus_as_they_were();
}
