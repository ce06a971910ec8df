//! What a task needs, measured: populations of two sizes, seen from outside.
//! What all tasks share cancels in the slope between them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use contract::control_group::ControlGroup;
use contract::skip;
use harness::limits::{Kind, Resource};
use harness::system_files::{SystemFiles, field, kib_field};

use crate::brigade;

/// A process with tasks that wait. At its end they end.
struct Populated {
    process: Child,
    group: Option<ControlGroup>,
}

/// What a populated process holds.
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

impl Populated {
    /// Starts a process that makes so many tasks, and waits until it has.
    fn of(kind: Kind, tasks: u64) -> Self {
        let group = ControlGroup::of_memory();
        if let Err(why) = &group {
            skip("what a control group is charged for a task", why);
        }
        let group = group.ok();
        let plain = brigade(&["--kind", kind.name(), "--populate", &tasks.to_string()]);
        let mut command = match &group {
            Some(group) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &group.entering(), "sh"]).arg(plain.get_program());
                shell.args(plain.get_args());
                shell
            }
            None => plain,
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("brigade starts");
        let said = BufReader::new(process.stdout.take().expect("a pipe"));
        let said: Vec<String> = said.lines().map_while(Result::ok).take_while(goes_on).collect();
        assert_eq!(said.last(), Some(&tasks.to_string()), "{kind}: {said:?}");
        Self { process, group }
    }

    fn held(&self) -> Held {
        let files = SystemFiles::live();
        let folder = format!("proc/{}", self.process.id());
        let status = files.text(&format!("{folder}/status")).expect("it is alive");
        // VmRSS is out of date by dozens of pages on each CPU; this is counted.
        let rollup = files.text(&format!("{folder}/smaps_rollup")).expect("it is alive");
        let children = files.text(&format!("{folder}/task/{}/children", self.process.id()));
        let own_threads: u64 =
            field(&status, "Threads").expect("threads").parse().expect("a count");
        let children = children.unwrap_or_default().split_whitespace().count() as u64;
        Held {
            files: files.names(&format!("{folder}/fd")).len() as u64,
            threads: own_threads + children,
            maps: files.text(&format!("{folder}/maps")).expect("maps").lines().count() as u64,
            virtual_bytes: kib_field(&status, "VmSize").expect("its size"),
            resident_bytes: kib_field(&rollup, "Rss").expect("its size"),
            charged_bytes: self.group.as_ref().and_then(ControlGroup::memory_bytes),
        }
    }
}

/// Whether it has not settled yet.
fn goes_on(line: &String) -> bool {
    line != "settled"
}

impl Drop for Populated {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Of two populations, the difference of one figure per task.
fn slope(kind: Kind, (few, many): (u64, u64)) -> impl Fn(fn(&Held) -> u64) -> f64 {
    let held = [few, many].map(|tasks| Populated::of(kind, tasks).held());
    move |figure| (figure(&held[1]) as f64 - figure(&held[0]) as f64) / (many - few) as f64
}

/// What a control group is charged ahead for each CPU, all together, in bytes.
const CHARGED_AHEAD_BYTES: f64 = (1 << 20) as f64;

/// Files and threads are exact; of maps, neighbours merge now and then. Bytes
/// may be fewer than are reckoned with, down to a third, and hardly more.
fn check(kind: Kind, tasks: (u64, u64)) {
    let needs = kind.per_task();
    let measured = slope(kind, tasks);
    assert_eq!(measured(|held| held.files), needs.files as f64, "{kind}: files");
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
fn a_thread_needs_what_is_reckoned() {
    check(Kind::Thread, (500, 2500));
    check(Kind::ThreadFutex, (500, 2500));
}

#[test]
fn a_thread_with_a_channel_needs_what_is_reckoned() {
    for kind in [Kind::ThreadEventfd, Kind::ThreadPipe, Kind::ThreadSocketpair] {
        check(kind, (100, 1500));
    }
}

#[test]
fn a_tokio_task_needs_what_is_reckoned() {
    check(Kind::TokioChannel, (10_000, 50_000));
    check(Kind::TokioPipe, (100, 1500));
}

#[test]
fn a_coroutine_needs_what_is_reckoned() {
    check(Kind::Coroutine, (1000, 5000));
}

#[test]
fn a_process_needs_what_is_reckoned() {
    check(Kind::Process, (50, 250));
}

#[test]
fn a_ring_needs_what_is_reckoned() {
    check(Kind::IoUring, (100, 900));
}
