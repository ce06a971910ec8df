//! Measures the needs in `harness::limits` as slopes between two populations, which cancels common
//! costs. The proof checks how many tasks fit into a limit.

use contract::control_group::ControlGroup;
use contract::{Program, fits_here, skip};
use harness::flags::name;
use harness::limits::{self, Kind, Need, Resource};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_task-memory"),
    ..Program::NEW
};

/// The resources of a process with this many tasks, as its `--command` sees them: files, threads
/// and processes, maps, bytes of address space, resident bytes; and the bytes charged to its
/// control group, user and kernel, or 0 if not counted.
fn resources(kind: Kind, tasks: u64) -> [f64; 6] {
    let group = ControlGroup::of_memory();
    let group = group.inspect_err(|why| skip("what a control group is charged for a task", why));
    // VmRSS is out of date by dozens of pages per CPU; smaps_rollup is exact.
    let look = "cd /proc/{pid} && ls fd | wc -l; wc -w < task/{pid}/children; wc -l < maps; \
                awk '/^(VmSize|Threads):/ { print $2 }' status; \
                awk '/^Rss:/ { print $2 }' smaps_rollup";
    let (kind, waiting) = match kind {
        Kind::TokioPipe => (Kind::Tokio, "--waiting=pipe"),
        Kind::Tokio => (Kind::Tokio, "--waiting=channel"),
        other => (other, "--quiet"),
    };
    let flags = [waiting, &format!("--kind={}", name(&kind)), &format!("--tasks={tasks}")];
    let mut run = PROGRAM.with(&flags).and(&["--until-refused", "--json", "--command", look]);
    if let Ok(group) = &group {
        run = run.from_shell(&group.entering());
    }
    let run = run.run();
    let record = run.record();
    let reading = record.ledger.as_ref().and_then(|points| points.last()).expect("a reading");
    assert_eq!((record.tasks, &reading.refused), (tasks, &None), "{kind:?}");
    let seen = run.complaints();
    let seen = seen.iter().map(|line| line.trim().parse::<f64>().expect("a number"));
    let [files, children, maps, virtual_kib, threads, resident_kib] =
        seen.collect::<Vec<_>>().try_into().expect("six numbers");
    let charged = reading.group_bytes.filter(|_| group.is_ok()).unwrap_or(0) as f64;
    [files, threads + children, maps, virtual_kib * 1024.0, resident_kib * 1024.0, charged]
}

/// Memory that a control group is charged in advance per CPU, for all CPUs, in
/// bytes.
const CHARGED_AHEAD_BYTES: f64 = (1 << 20) as f64;

/// Threads are exact. The observing shell may run before two start-up files are closed.
/// Neighbouring maps sometimes merge. Bytes may be as little as a third of the assumed need, and
/// hardly more.
///
/// The first threads get an arena of the allocator each: the populations begin beyond them.
fn check(kind: Kind, (few, many): (u64, u64)) {
    let per_task = Need::new(kind, 1).per_task;
    let needs = |resource| per_task.amount(resource);
    let arenas = if needs(Resource::Threads) > 0 { limits::arenas() } else { 0 };
    let many = many + arenas.saturating_sub(few);
    let few = few.max(arenas);
    if !fits_here(kind, many) {
        return;
    }
    let before = resources(kind, few);
    let after = resources(kind, many);
    let slope = |figure: usize| (after[figure] - before[figure]) / (many - few) as f64;
    let [files, threads, maps, mapped, resident, charged] = [0, 1, 2, 3, 4, 5].map(slope);
    let of_start = 2.5 / (many - few) as f64;
    assert!((files - needs(Resource::Files) as f64).abs() < of_start, "{kind:?}: {files} files");
    assert_eq!(threads, needs(Resource::Threads) as f64, "{kind:?}: threads");
    assert!((maps - needs(Resource::Maps) as f64).abs() < 0.05, "{kind:?}: {maps} maps");
    let address_space = needs(Resource::AddressSpace) as f64;
    let memory = needs(Resource::Memory) as f64;
    for (what, measured, most) in [
        ("address space", mapped, address_space * 1.1),
        ("user memory", resident, memory * 1.1),
        ("memory", charged, memory * 1.1 + CHARGED_AHEAD_BYTES / (many - few) as f64),
    ] {
        assert!(measured <= most + 64.0, "{kind:?}: {measured} bytes of {what}, not {most}");
    }
    assert!(
        needs(Resource::Maps) == 0 || mapped >= address_space * 0.97,
        "{kind:?}: {mapped} bytes mapped"
    );
    assert!(charged == 0.0 || charged >= memory / 3.0, "{kind:?}: {charged} bytes charged");
}

#[test]
fn a_task_of_each_kind_needs_what_is_assumed() {
    if !contract::runs_natively("maps and memory of a task") {
        return;
    }
    let _machine = contract::machine::alone();
    for (kind, tasks) in [
        (Kind::Thread, (500, 2500)),
        (Kind::ThreadFutex, (500, 2500)),
        (Kind::ThreadEventfd, (100, 1500)),
        (Kind::ThreadPipe, (100, 1500)),
        (Kind::Tokio, (10_000, 50_000)),
        (Kind::TokioPipe, (100, 1500)),
        (Kind::Coroutine, (1000, 5000)),
        (Kind::Process, (50, 250)),
        (Kind::IoUring, (100, 900)),
    ] {
        check(kind, tasks);
    }
}
