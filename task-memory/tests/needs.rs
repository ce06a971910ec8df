//! What `harness::limits` reckons with, measured: what a task needs, as the
//! slope between populations of two sizes, in which what all tasks share
//! cancels, and how many fit into a limit.
//!
//! These tests make floods of tasks, so each takes the machine for itself, and
//! what does not fit on this machine is skipped.

use std::fs;
use std::path::Path;

use contract::control_group::ControlGroup;
use contract::invocation::Invocation;
use contract::{Measurement, Program, fits_here, skip};
use harness::Amounts;
use harness::limits::{self, Kind, Need, Resource};
use harness::record::{LedgerPoint, Record};
use harness::system_files::{field, kib_field};
use nix::sys::resource::Resource as Limited;

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_task-memory"),
    measurements: &[Measurement::once("populate", "population")],
    ..Program::NEW
};

/// A run that makes so many tasks of a kind, or fewer.
fn populating(kind: Kind, tasks: u64) -> Invocation {
    let tasks = format!("--tasks={tasks}");
    let kind = kind.flags();
    let kind: Vec<&str> = kind.iter().map(String::as_str).collect();
    PROGRAM.with(&["--until-refused", "--json", &tasks]).and(&kind)
}

/// The number of tasks of such a run, and what the kernel refused.
fn populated(run: Invocation) -> (u64, Option<String>) {
    let record = run.run().succeeded().record();
    (record.tasks, last(&record).refused.clone())
}

fn last(record: &Record) -> &LedgerPoint {
    record.ledger.as_ref().and_then(|points| points.last()).expect("a reading")
}

/// What a process with tasks holds.
#[derive(Debug)]
struct Held {
    files: u64,
    threads: u64,
    maps: u64,
    virtual_bytes: u64,
    resident_bytes: u64,
    /// As its control group is charged, user and kernel.
    charged_bytes: Option<u64>,
}

impl Held {
    /// Looks at a process while it has so many tasks, by its `--command`.
    fn by(kind: Kind, tasks: u64) -> Self {
        let group = ControlGroup::of_memory();
        if let Err(why) = &group {
            skip("what a control group is charged for a task", why);
        }
        let seen = tempfile::tempdir().expect("a folder");
        let folder = seen.path().display();
        let look = format!(
            "cd /proc/{{pid}} && ls fd | wc -l > {folder}/fd; wc -l < maps > {folder}/maps; \
             cat status > {folder}/status; cat smaps_rollup > {folder}/rollup; \
             cat task/{{pid}}/children > {folder}/children"
        );
        let mut run = populating(kind, tasks).and(&["--command", &look]);
        if let Ok(group) = &group {
            run = run.from_shell(&group.entering());
        }
        let record = run.run().succeeded().record();
        let reading = last(&record);
        assert_eq!((record.tasks, &reading.refused), (tasks, &None), "{kind}");
        let charged_bytes = reading.group_bytes.filter(|_| group.is_ok());
        Self { charged_bytes, ..Self::read(seen.path()) }
    }

    fn read(folder: &Path) -> Self {
        let text = |file: &str| fs::read_to_string(folder.join(file)).expect("what was seen");
        let number = |file: &str| text(file).trim().parse::<u64>().expect("a number");
        let status = text("status");
        let threads: u64 = field(&status, "Threads").expect("threads").parse().expect("a count");
        // The shell that looks is a child as well.
        let children = text("children").split_whitespace().count() as u64;
        Self {
            files: number("fd"),
            threads: threads + children,
            maps: number("maps"),
            virtual_bytes: kib_field(&status, "VmSize").expect("its size"),
            // VmRSS is out of date by dozens of pages on each CPU; this is counted.
            resident_bytes: kib_field(&text("rollup"), "Rss").expect("its size"),
            charged_bytes: None,
        }
    }
}

/// Of two populations, the difference of one figure per task.
fn slope(kind: Kind, (few, many): (u64, u64)) -> impl Fn(fn(&Held) -> u64) -> f64 {
    let held = [few, many].map(|tasks| Held::by(kind, tasks));
    move |figure| (figure(&held[1]) as f64 - figure(&held[0]) as f64) / (many - few) as f64
}

/// More maps than by default would take too many threads.
const MOST_MAPS: u64 = 70_000;

/// What a control group is charged ahead for each CPU, all together, in bytes.
const CHARGED_AHEAD_BYTES: f64 = (1 << 20) as f64;

/// Threads are exact. The shell that looks may run before the file that
/// reported its start is closed. Of maps, neighbours merge now and then. Bytes
/// may be fewer than are reckoned with, down to a third, and hardly more.
///
/// The first threads get an arena of the allocator each: the populations begin
/// beyond them.
fn check(kind: Kind, tasks: (u64, u64)) {
    let needs = kind.per_task();
    let arenas = if needs.threads > 0 { limits::arenas() } else { 0 };
    let tasks = (tasks.0.max(arenas), tasks.1 + arenas.saturating_sub(tasks.0));
    if !fits_here(kind, tasks.1) {
        return;
    }
    let measured = slope(kind, tasks);
    let files = measured(|held| held.files);
    assert!((files - needs.files as f64).abs() < 0.01, "{kind}: {files} files");
    assert_eq!(measured(|held| held.threads), needs.threads as f64, "{kind}: threads");
    let maps = measured(|held| held.maps);
    assert!((maps - needs.maps as f64).abs() < 0.05, "{kind}: {maps} maps");
    let at_most = |what: &str, measured: f64, most: f64| {
        assert!(measured <= most + 64.0, "{kind}: {measured} bytes of {what}, not {most}");
    };
    let mapped = measured(|held| held.virtual_bytes);
    let reckoned = needs.address_space_bytes as f64;
    at_most("address space", mapped, reckoned * 1.1);
    if needs.maps > 0 {
        assert!(mapped >= reckoned * 0.97, "{kind}: {mapped} bytes of address space");
    }
    let resident = measured(|held| held.resident_bytes);
    at_most("user memory", resident, needs.user_bytes as f64 * 1.1);
    let charged = measured(|held| held.charged_bytes.unwrap_or(0));
    let reckoned = needs.of(Resource::Memory) as f64;
    at_most("memory", charged, reckoned * 1.1 + CHARGED_AHEAD_BYTES / (tasks.1 - tasks.0) as f64);
    assert!(charged == 0.0 || charged >= reckoned / 3.0, "{kind}: {charged} bytes");
}

#[test]
fn a_task_of_each_kind_needs_what_is_reckoned() {
    let _machine = contract::machine::alone();
    for (kind, tasks) in [
        (Kind::Thread, (500, 2500)),
        (Kind::ThreadFutex, (500, 2500)),
        (Kind::ThreadEventfd, (100, 1500)),
        (Kind::ThreadPipe, (100, 1500)),
        (Kind::ThreadSocketpair, (100, 1500)),
        (Kind::TokioChannel, (10_000, 50_000)),
        (Kind::TokioPipe, (100, 1500)),
        (Kind::Coroutine, (1000, 5000)),
        (Kind::Process, (50, 250)),
        (Kind::IoUring, (100, 900)),
    ] {
        check(kind, tasks);
    }
}

/// How many tasks fit into `available` of a resource, of which the program
/// itself has taken `own`.
fn fitting(kind: Kind, resource: Resource, available: u64, own: u64) -> u64 {
    let need = Need { tasks: 0, per_task: kind.per_task(), fixed: Amounts::default() };
    need.fits(resource, available - own)
}

/// Asserts that the kernel refused a task in these words where it should.
#[track_caller]
fn check_stop(
    kind: Kind,
    predicted: u64,
    (reached, refused): (u64, Option<String>),
    words: &[&str],
) {
    let refused = refused.unwrap_or_else(|| panic!("{kind}: nothing was refused at {reached}"));
    let difference = reached as f64 / predicted as f64 - 1.0;
    assert!(difference.abs() <= 0.01, "{kind}: {reached} of {predicted}: {refused}");
    assert!(words.iter().any(|word| refused.contains(word)), "{kind}: {refused}");
}

#[test]
fn the_file_limit_stops_channels_where_reckoned() {
    let _machine = contract::machine::alone();
    const FILES: u64 = 1000;
    for kind in [
        Kind::ThreadPipe,
        Kind::ThreadSocketpair,
        Kind::ThreadEventfd,
        Kind::TokioPipe,
        Kind::IoUring,
    ] {
        if !fits_here(kind, FILES) {
            continue;
        }
        let run = populating(kind, 2000).limited(Limited::RLIMIT_NOFILE, FILES, FILES);
        let predicted = fitting(kind, Resource::Files, FILES, 3 + kind.fixed().files / 2);
        check_stop(kind, predicted, populated(run), &["Too many open files"]);
    }
}

#[test]
fn the_address_space_limit_stops_stacks_where_reckoned() {
    let _machine = contract::machine::alone();
    for kind in [Kind::Thread, Kind::Coroutine] {
        // Beyond all arenas: while the last ones are made, one that does not fit
        // leaves room for stacks.
        let arenas = kind.per_task().allocator(u64::MAX).address_space_bytes;
        let bytes = arenas + (4 << 30);
        let predicted = fitting(kind, Resource::AddressSpace, bytes, 0);
        if !fits_here(kind, predicted) {
            continue;
        }
        let run = populating(kind, 10_000).limited(Limited::RLIMIT_AS, bytes, bytes);
        check_stop(
            kind,
            predicted,
            populated(run),
            &["Cannot allocate", "temporarily unavailable"],
        );
    }
}

#[test]
fn the_limit_of_a_group_stops_threads_and_processes_where_reckoned() {
    let _machine = contract::machine::alone();
    let group = match ControlGroup::with_most_threads(1000) {
        Ok(group) => group,
        Err(why) => return skip("the limit pids.max of a control group", &why),
    };
    for kind in [Kind::Thread, Kind::Process] {
        if !fits_here(kind, 1000) {
            continue;
        }
        let run = populating(kind, 2000).from_shell(&group.entering());
        check_stop(kind, 999, populated(run), &["temporarily unavailable"]);
    }
}

/// Past this limit the standard library aborts the process.
#[test]
fn the_maps_limit_stops_threads_where_reckoned() {
    let _machine = contract::machine::alone();
    let maps = fs::read_to_string("/proc/sys/vm/max_map_count").expect("a setting");
    let maps: u64 = maps.trim().parse().expect("a number");
    if maps > MOST_MAPS {
        return skip("threads up to vm.max_map_count", "it allows too many here");
    }
    let predicted = fitting(Kind::Thread, Resource::Maps, maps, 0);
    // The maps of this process itself are not those of the program.
    if !fits_here(Kind::Thread, predicted * 99 / 100) {
        return;
    }
    let found = populated(populating(Kind::Thread, predicted * 2));
    check_stop(Kind::Thread, predicted, found, &["Cannot allocate", "temporarily unavailable"]);
}
