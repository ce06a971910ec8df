//! What README and docs/OBSERVATIONS.md claim of the recorded runs. A claim names its words, and is
//! checked in every recorded run that has its cases and meets its condition; one must. Every bullet of
//! README and every section of OBSERVATIONS makes a claim, and .ci/figures.py writes the figures.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use contract::repository;
use harness::summary::FEWEST_STEPS;
use serde_json::Value;

use crate::bench::{self, Ended};
use crate::report::JSON;

const README: &str = "README.md";
const OBSERVATIONS: &str = "docs/OBSERVATIONS.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("brigade/ is in the workspace")
}

/// The reports of the recorded runs.
static RUNS: LazyLock<Vec<Run>> = LazyLock::new(|| {
    JSON.iter().map(|report| Run(serde_json::from_str(report).expect("JSON"))).collect()
});

/// The report of a recorded run.
struct Run(Value);

impl Run {
    /// The row of a case's figure, or of one of its measurements.
    fn row(&self, case: &str, measurement: Option<&str>) -> Option<&Value> {
        let groups = self.0["groups"].as_array().expect("groups");
        let mut rows = groups.iter().flat_map(|group| group["rows"].as_array().expect("rows"));
        rows.find(|row| {
            row["case"] == case && measurement.is_none_or(|name| row["measurement"] == name)
        })
    }

    /// A number of a row, such as `/parts/idle_entries`.
    fn number(&self, case: &str, pointer: &str) -> Option<f64> {
        self.row(case, None)?.pointer(pointer)?.as_f64()
    }

    /// The figure of a case.
    fn figure(&self, case: &str) -> Option<f64> {
        self.number(case, "/figure/value")
    }

    /// The figure of one of its measurements.
    fn phase(&self, case: &str, measurement: &str) -> Option<f64> {
        self.row(case, Some(measurement))?.pointer("/figure/value")?.as_f64()
    }

    /// A case's figure divided by another's.
    fn ratio(&self, case: &str, over: &str) -> Option<f64> {
        Some(self.figure(case)? / self.figure(over)?)
    }

    /// For each process of a case, the sleeps and the time of an operation.
    fn processes(&self, case: &str) -> Option<Vec<[f64; 2]>> {
        let name = self.0["run"]["name"].as_str().expect("a name");
        let records = bench::records_in(&root().join("results").join(name)).into_iter();
        let figures = records.filter(|line| line["case"] == case).map(|line| {
            let number = |pointer| line["record"].pointer(pointer)?.as_f64();
            let mean_ns = number("/measurements/0/mean_ns")?;
            let operations = number("/measurements/0/operations")?;
            Some([number("/switches/voluntary_per_operation")?, mean_ns / operations])
        });
        let figures: Vec<_> = figures.collect::<Option<_>>()?;
        if figures.is_empty() { None } else { Some(figures) }
    }

    /// Whether CPUs fall asleep at most hops to another CPU, in a virtual machine. Where the kernel
    /// counts no idle states: whether a hop is quicker if they are kept awake.
    fn has_sleeping_cpus(&self) -> Option<bool> {
        let is_virtual =
            self.0["run"]["machine"]["virtualisation"].as_str().unwrap_or("none") != "none";
        let sleeps = match self.number(SPREAD, "/parts/idle_entries") {
            Some(entries) => entries > 0.5,
            None => self.ratio(AWAKE, SPREAD)? < 0.8,
        };
        Some(is_virtual && sleeps)
    }

    /// The bytes of a task in these parts of its memory.
    fn bytes(&self, case: &str, parts: &[&str]) -> Option<f64> {
        let memory = self.row(case, None)?["memory"].as_array()?;
        let of = |name: &&str| {
            let part = memory.iter().find(|part| part["name"] == **name)?;
            part.pointer("/bytes_per_task/value")?.as_f64()
        };
        parts.iter().map(of).sum()
    }
}

/// What a document claims: its words, without figures, and whether a run that can show it does.
struct Claim {
    document: &'static str,
    words: &'static str,
    holds: Box<Check>,
}

/// Whether a run shows something; `None` if it cannot.
type Check = dyn Fn(&Run) -> Option<bool>;

fn claim(
    document: &'static str,
    words: &'static str,
    holds: impl Fn(&Run) -> Option<bool> + 'static,
) -> Claim {
    Claim { document, words, holds: Box::new(holds) }
}

/// All claims.
fn claims() -> Vec<Claim> {
    let topics = [
        switches, placement, pipes, creation, processes, memory, locks, fairness, readers,
        channels, waking, timers, greed, servers,
    ];
    topics.into_iter().flat_map(|topic| topic()).collect()
}

/// A document, with its generated figures between comments.
fn source(document: &str) -> String {
    fs::read_to_string(root().join(document)).expect("a document")
}

/// The text without its generated figures, line breaks and marks of emphasis.
fn words_of(text: &str) -> String {
    let mut parts = text.split("<!--");
    let first = parts.next().unwrap_or_default().to_owned();
    // Only a comment that begins a figure has no space; what follows it is the figure.
    let rest = parts.map(|part| match part.split_once("-->") {
        Some((comment, after)) if comment == "/" || comment.starts_with(' ') => after,
        _ => "",
    });
    let text = rest.fold(first, |text, part| text + part);
    text.replace("**", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_claim_is_written_and_holds_in_every_recorded_run_that_can_show_it() {
    let mut wrong = Vec::new();
    for Claim { document, words, holds } in claims() {
        assert!(words_of(&source(document)).contains(words), "{document} does not say: {words}");
        let found: Vec<_> =
            RUNS.iter().filter_map(|run| Some((&run.0["run"]["name"], holds(run)?))).collect();
        assert!(!found.is_empty(), "no recorded run shows: {words}");
        if !found.iter().all(|(_, holds)| *holds) {
            wrong.push(format!("{words}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The bullets about the machine in README, and the sections of OBSERVATIONS.
fn claiming_texts() -> Vec<(&'static str, String)> {
    let readme = source(README);
    let observations = source(OBSERVATIONS);
    let begun = readme.split("What this machine says:\n").nth(1).expect("its heading");
    let bullets = begun.split("\n\n[").next().expect("its end").split("\n- ").skip(1);
    let bullets = bullets.map(|bullet| (README, bullet.to_owned()));
    let sections = observations.split("\n## ").skip(1);
    bullets.chain(sections.map(|section| (OBSERVATIONS, section.to_owned()))).collect()
}

#[test]
fn every_bullet_and_every_section_makes_a_claim() {
    let texts = claiming_texts();
    let claims = claims();
    assert!(texts.len() >= 14, "{} bullets and sections", texts.len());
    for (document, text) in texts {
        let words = words_of(&text);
        let mut own = claims.iter().filter(|claim| claim.document == document);
        assert!(own.any(|claim| words.contains(claim.words)), "{document}: no test of: {words}");
    }
}

/// Figures that no run shows: of an experiment of another author, and settings.
const CONSTANTS: [&str; 13] = [
    "3.6 µs", "5.3 µs", "3.4 µs", "0.2 µs", "0.3 µs", "17 µs", "0.4 KiB", "20 KiB", "8 MiB",
    "40 MiB", "1 MiB", "50 ms", "10 ms",
];

/// A reader of the source could not tell such a figure from one that has become stale. A line that
/// begins with a comment is HTML on GitHub.
#[test]
fn every_figure_of_a_claim_is_generated() {
    let is_unit = |word: &str| {
        let word = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "%", "times"].contains(&word)
    };
    for (document, text) in claiming_texts() {
        let words = words_of(&text);
        let words: Vec<&str> = words.split(' ').collect();
        for pair in words.windows(2) {
            let number = pair[0].trim_start_matches(|c: char| !c.is_ascii_digit());
            let figure = format!("{number} {}", pair[1].trim_end_matches(['.', ',', ':', ';']));
            let is_figure = number.parse::<f64>().is_ok() && is_unit(pair[1]);
            let is_constant = CONSTANTS.contains(&&*figure);
            assert!(!is_figure || is_constant, "{document}: not generated: {figure}");
        }
        let line = text.lines().find(|line| {
            line.trim_start().starts_with("<!--") && !line.trim_start().starts_with("<!-- ")
        });
        assert_eq!(line, None, "{document}: a line begins with a comment");
    }
}

const FREE: &str = "thread-brigade";
const PINNED: &str = "thread-brigade --placement same-cpu";
const SPREAD: &str = "thread-brigade --placement spread";
const AWAKE: &str = "thread-brigade --keep-awake --placement spread";
const TOKIO_PIPES: &str = "async-brigade --runtime tokio-current-thread";
const TOKIO_MEMORY: &str = "async-mem-brigade";
const FUTEX: &str = "thread-brigade --channel futex --placement same-cpu";
const IO_ALONE: &str = "one-thread-brigade";
const LOOP: &str = "event-loop-brigade --loop epoll-edge";
const NEW_STACK: &str = "thread-creation";
const OLD_STACK: &str = "thread-creation --tasks 20";
const NEW_TASK: &str = "async-creation --runtime tokio-current-thread --tasks 1000";

fn switches() -> Vec<Claim> {
    let cheap = |run: &Run| {
        let ratios = [run.ratio(FUTEX, TOKIO_MEMORY)?, run.ratio(TOKIO_PIPES, TOKIO_MEMORY)?];
        Some(ratios.iter().all(|ratio| *ratio > 5.0))
    };
    vec![
        claim(README, "Switching between async tasks is cheap; waiting for I/O is not", cheap),
        claim(OBSERVATIONS, "In memory by far, over pipes less", |run| {
            let [in_memory, over_pipes] =
                [run.ratio(FUTEX, TOKIO_MEMORY)?, run.ratio(PINNED, TOKIO_PIPES)?];
            Some(over_pipes > 1.2 && in_memory > 2.0 * over_pipes)
        }),
        claim(OBSERVATIONS, "A channel and a run queue, without any system call", |run| {
            let kernel = run.number(TOKIO_MEMORY, "/parts/kernel_ns")?;
            Some(kernel < 0.1 * run.figure(TOKIO_MEMORY)? && run.ratio(FUTEX, TOKIO_MEMORY)? > 5.0)
        }),
        claim(OBSERVATIONS, "A bare coroutine only exchanges a few registers", |run| {
            Some(run.ratio(TOKIO_MEMORY, "coroutine-brigade")? > 5.0)
        }),
        claim(OBSERVATIONS, "threads on one CPU make more than one switch per hop", |run| {
            Some(run.number(PINNED, "/switches")? > 1.1)
        }),
    ]
}

/// The recorded machines, whose folders of runs are gone.
#[test]
fn what_is_said_of_every_recorded_machine_is_true() {
    let words = "Two of his findings hold on every machine recorded here: a switch in memory is \
                 cheap, and waiting for a pipe is not. One does not: pinned threads are still slower";
    assert!(words_of(&source(OBSERVATIONS)).contains(words), "{words}");
    let words = "On some machines it costs little";
    assert!(words_of(&source(OBSERVATIONS)).contains(words), "{words}");
    let text = fs::read_to_string(root().join("results/machines.json")).expect("machines");
    let machines: Value = serde_json::from_str(&text).expect("JSON");
    let mut known = 0;
    let mut waking = Vec::new();
    for machine in machines["machines"].as_array().expect("machines") {
        let ratio = |case: &str, over: &str| {
            let figure = |case: &str| machine["cases"][case]["figure"].as_f64();
            Some(figure(case)? / figure(over)?)
        };
        let cheap = [ratio(FUTEX, TOKIO_MEMORY), ratio(TOKIO_PIPES, TOKIO_MEMORY)];
        let pinned = ratio(PINNED, TOKIO_PIPES);
        known += cheap.iter().chain([&pinned]).flatten().count();
        let is_true = cheap.into_iter().flatten().all(|ratio| ratio > 5.0)
            && pinned.is_none_or(|ratio| ratio > 1.2);
        assert!(is_true, "{}", machine["label"]);
        waking.extend(ratio(SPREAD, PINNED));
    }
    assert!(known > 9, "{known}");
    assert!(waking.iter().any(|ratio| *ratio < 1.5), "{waking:?}");
}

fn placement() -> Vec<Claim> {
    let sleeps = |run: &Run, holds: bool| run.has_sleeping_cpus()?.then_some(holds);
    let half = move |run: &Run| {
        let share = 1.0 - run.ratio(AWAKE, SPREAD)?;
        let interrupts = run.number(AWAKE, "/parts/interrupts")?;
        sleeps(run, (0.35..0.65).contains(&share) && interrupts > 0.5)
    };
    vec![
        claim(README, "Threads pay for each switch, and for waking other CPUs", |run| {
            Some(run.ratio(PINNED, TOKIO_PIPES)? > 1.2 && run.ratio(SPREAD, PINNED)? > 1.0)
        }),
        claim(README, "If idle CPUs sleep, about half of that is waking one", half),
        claim(OBSERVATIONS, "saves about half of the hop; the interrupt remains", half),
        claim(
            OBSERVATIONS,
            "If idle CPUs sleep, a hop to another CPU has to wake one",
            move |run| {
                let [free, spread] = [run.ratio(FREE, PINNED)?, run.ratio(SPREAD, FREE)?];
                sleeps(run, free > 2.0 && spread > 1.2)
            },
        ),
        claim(OBSERVATIONS, "their hops stay on one CPU", |run| {
            Some(run.number("async-brigade", "/parts/crossing_share")? < 0.1)
        }),
    ]
}

fn pipes() -> Vec<Claim> {
    let beyond = |run: &Run, case: &str| Some(run.figure(case)? - run.figure(IO_ALONE)?);
    vec![
        claim(OBSERVATIONS, "finding out that the pipe is readable takes the rest", |run| {
            Some((0.4..0.7).contains(&(1.0 - run.ratio(IO_ALONE, TOKIO_PIPES)?)))
        }),
        claim(
            OBSERVATIONS,
            "Beyond the I/O, tokio takes two to three times as long as the loop",
            move |run| Some((1.5..3.5).contains(&(beyond(run, TOKIO_PIPES)? / beyond(run, LOOP)?))),
        ),
        claim(OBSERVATIONS, "and the other runtimes take longer", |run| {
            let others =
                ["async-executor", "compio"].map(|name| format!("async-brigade --runtime {name}"));
            let [one, other] = others.map(|case| run.ratio(&case, TOKIO_PIPES));
            Some(one? > 1.1 && other? > 1.1)
        }),
        claim(OBSERVATIONS, "io_uring is not faster here", |run| {
            Some(run.ratio("event-loop-brigade --loop io-uring-defer", LOOP)? > 0.95)
        }),
    ]
}

fn creation() -> Vec<Claim> {
    // As many threads at once, without a stack to reuse and with one for each.
    let create =
        |run: &Run| Some(run.phase(OLD_STACK, "create_cold")? / run.phase(OLD_STACK, "create")?);
    vec![
        claim(README, "Creating a thread is expensive, above all on a new stack", |run| {
            let new_stack = run.ratio(NEW_STACK, OLD_STACK)?;
            Some(run.ratio(OLD_STACK, NEW_TASK)? > 20.0 && (1.4..2.8).contains(&new_stack))
        }),
        claim(OBSERVATIONS, "creation alone takes several times as long", move |run| {
            Some(create(run)? > 2.0)
        }),
    ]
}

fn processes() -> Vec<Claim> {
    let more = |run: &Run, via: &str| {
        let case = format!("process-creation --via {via}");
        run.ratio(&format!("{case} --resident-mib 8"), &case)
    };
    vec![
        claim(OBSERVATIONS, "so it costs more the more memory the parent has", move |run| {
            Some(more(run, "fork")? > 1.3)
        }),
        claim(OBSERVATIONS, "`vfork` shares them", move |run| {
            let spawn = more(run, "posix-spawn --exec").or_else(|| more(run, "posix-spawn"))?;
            let others = [more(run, "vfork")?, more(run, "clone-vm")?, spawn];
            Some(others.iter().all(|more| *more < 1.25))
        }),
    ]
}

fn memory() -> Vec<Claim> {
    const THREAD: &str = "task-memory --kind thread --tasks 4000";
    const IN_KERNEL: [&str; 3] = ["page tables", "kernel stacks", "slab"];
    let share =
        |run: &Run, case: &str| Some(run.bytes(case, &IN_KERNEL)? / run.bytes(case, &["= sum"])?);
    vec![
        claim(OBSERVATIONS, "is in the kernel; an async task's", move |run| {
            let on_channel =
                share(run, "task-memory --kind tokio --waiting channel --tasks 200000");
            let task =
                on_channel.or_else(|| share(run, "task-memory --kind tokio --tasks 200000"))?;
            Some(share(run, THREAD)? > 0.5 && task < 0.02)
        }),
        claim(OBSERVATIONS, "ten thousand idle threads take less than half a GiB", |run| {
            Some(run.figure(THREAD)? * 10_000.0 < 0.5 * f64::from(1 << 30))
        }),
    ]
}

/// The case of a lock that so many tasks use.
fn lock(flags: &str, tasks: u32) -> String {
    let flags = if flags.is_empty() { String::new() } else { format!(" {flags}") };
    format!("lock-hand-over{flags} --tasks {tasks} --inside 100 --outside 100")
}

fn locks() -> Vec<Claim> {
    vec![
        claim(OBSERVATIONS, "again at once, even if others wait, so it hardly switches", |run| {
            // parking_lot's yields before it sleeps, and a yield may be a switch.
            let [switches, sleeps] = ["/switches", "/sleeps"];
            let kinds =
                [("", switches), ("--lock parking-lot", sleeps), ("--lock pthread", switches)];
            let barging = kinds.map(|(flags, counter)| {
                let ratio = run.ratio(&lock(flags, 8), &lock(flags, 1))?;
                let counted = run.number(&lock(flags, 8), counter)?;
                Some((0.5..2.0).contains(&ratio) && counted < 0.1)
            });
            let barging = barging.into_iter().collect::<Option<Vec<bool>>>()?;
            Some(!barging.contains(&false))
        }),
        claim(OBSERVATIONS, "that is a switch every time", |run| {
            let inheriting = lock("--lock pthread-pi", 8);
            let ratio = run.ratio(&inheriting, &lock("--lock pthread", 8))?;
            Some(ratio > 10.0 && run.number(&inheriting, "/switches")? > 0.9)
        }),
        claim(OBSERVATIONS, "When each acquisition hands it over by a switch", |run| {
            Some(run.ratio(&lock("--lock pthread-pi", 8), &lock("", 8))? > 10.0)
        }),
    ]
}

fn fairness() -> Vec<Claim> {
    let case = |name: &str| lock(&format!("--runtime tokio --lock {name}"), 8);
    let [of_async, of_tokio] = ["async-lock", "tokio"].map(case);
    // If turns are shared, a task waits for seven others.
    let turns = |run: &Run, case: &str| Some(run.phase(case, "turn")? / run.figure(case)?);
    let unfair = of_async.clone();
    vec![
        claim(
            OBSERVATIONS,
            "With async-lock's, one task takes nearly all turns, and the others wait long",
            move |run| Some(turns(run, &unfair)? > 100.0),
        ),
        claim(OBSERVATIONS, "tokio's shares evenly, and is slower", move |run| {
            let is_even = (7.0..9.0).contains(&turns(run, &of_tokio)?);
            Some(is_even && run.ratio(&of_tokio, &of_async)? > 1.2)
        }),
    ]
}

fn readers() -> Vec<Claim> {
    let lock = |flags: &str, read: u32, inside: u32| {
        format!("lock-hand-over{flags} --tasks 8 --read {read} --inside {inside}")
    };
    let pays = move |run: &Run| {
        let ratio = |inside| run.ratio(&lock("", 90, inside), &lock(" --lock std-rw", 90, inside));
        Some(ratio(100)? > 1.1 && ratio(10_000)? > 1.1)
    };
    let halve = move |run: &Run| {
        let ratio = |inside| run.ratio(&lock("", 90, inside), &lock(" --lock std-rw", 100, inside));
        Some(ratio(100)? > 1.6 && ratio(10_000)? > 1.6)
    };
    let policy = move |run: &Run| {
        let wait =
            |kind: &str| run.phase(&lock(&format!(" --lock {kind}"), 99, 10_000), "write_turn");
        Some(wait("pthread-rw")? > 5.0 * wait("pthread-rw-writer")?)
    };
    vec![
        claim(OBSERVATIONS, "When most acquisitions read and another CPU can read meanwhile", pays),
        claim(OBSERVATIONS, "If all read, two CPUs halve the time, even of short reads", halve),
        claim(OBSERVATIONS, "those of glibc's, which prefers readers", policy),
    ]
}

/// Pearson's correlation coefficient of two figures of some processes.
fn correlation(figures: &[[f64; 2]]) -> f64 {
    let count = figures.len() as f64;
    let means = [0, 1].map(|which| figures.iter().map(|pair| pair[which]).sum::<f64>() / count);
    let product = |one: usize, other: usize| -> f64 {
        let of = |pair: &[f64; 2]| (pair[one] - means[one]) * (pair[other] - means[other]);
        figures.iter().map(of).sum()
    };
    product(0, 1) / (product(0, 0) * product(1, 1)).sqrt()
}

fn channels() -> Vec<Claim> {
    const STD: &str = "channel-load --capacity 64";
    const CROSSBEAM: &str = "channel-load --channel crossbeam --capacity 64";
    const BY_HAND: &str = "channel-load --channel queue --capacity 64";
    let sleeps = |run: &Run, case: &str| run.number(case, "/sleeps");
    let in_kernel = |run: &Run, case: &str| {
        Some(run.number(case, "/parts/kernel_ns")? / run.number(case, "/cpu_ns")?)
    };
    let slow = |run: &Run| Some(run.ratio(BY_HAND, CROSSBEAM)? > 2.0);
    let wakes = move |run: &Run| {
        let alone = [STD, CROSSBEAM].map(|case| format!("{case} --placement same-cpu"));
        let spins = sleeps(run, STD)? > 5.0 * sleeps(run, CROSSBEAM)?;
        Some(spins && run.ratio(&alone[0], &alone[1])? > 1.2)
    };
    let in_turn = move |run: &Run| {
        let sleeps_with = |room: u32| sleeps(run, &format!("channel-load --capacity {room}"));
        let of_room = [sleeps_with(8)? * 8.0, sleeps_with(64)? * 64.0];
        Some((1.0..=2.0).contains(&of_room[0]) && of_room[1] <= 2.0)
    };
    let outlasts = move |run: &Run| {
        let [more, other] = ["", " --channel crossbeam"]
            .map(|channel| format!("channel-load{channel} --capacity 512"));
        Some(sleeps(run, &more)? < 0.002 && run.ratio(&more, &other)? < 1.1)
    };
    let suffices = move |run: &Run| {
        let sleeps_often = sleeps(run, STD)? > 0.01;
        Some(sleeps_often == (run.ratio(STD, CROSSBEAM)? > 1.0))
    };
    let locked = move |run: &Run| {
        Some(sleeps(run, BY_HAND)? < 0.02 && (0.25..0.8).contains(&in_kernel(run, BY_HAND)?))
    };
    let switches = |run: &Run| {
        let one = "channel-load --channel queue --capacity 1";
        Some(run.ratio(one, BY_HAND)? > 3.0 && run.number(one, "/switches")? > 0.5)
    };
    let by_luck = |run: &Run| {
        let processes = run.processes("channel-load --channel kanal --capacity 64")?;
        Some(correlation(&processes) > 0.9)
    };
    let spins = move |run: &Run| {
        let case = "channel-load --channel crossbeam --producers 64 --capacity 64";
        let half_ns = run.number(case, "/percentiles/p50")?;
        let is_busy = in_kernel(run, case)? < 0.1 && run.number(case, "/switches")? < 0.05;
        Some(is_busy && run.figure(case)? > 3.0 * half_ns)
    };
    vec![
        claim(OBSERVATIONS, "Not a mutex around a queue", slow),
        claim(
            OBSERVATIONS,
            "On one CPU crossbeam's is cheaper than std's on every recorded machine",
            wakes,
        ),
        claim(OBSERVATIONS, "these sleeps decide how long a message takes", by_luck),
        claim(OBSERVATIONS, "From four producers, kanal's is often faster", |run| {
            let [kanal, crossbeam] = ["kanal", "crossbeam"].map(|channel| {
                format!("channel-load --channel {channel} --producers 4 --capacity 64")
            });
            Some(run.ratio(&kanal, &crossbeam)? < 1.0)
        }),
        claim(OBSERVATIONS, "up to two sleeps for as many messages as there is room for", in_turn),
        claim(OBSERVATIONS, "Room for 512 outlasts a wake-up", outlasts),
        claim(OBSERVATIONS, "On an Intel Xeon 6/207 room for 64 does", suffices),
        claim(
            OBSERVATIONS,
            "a quarter of its CPU time or more is futex calls in the kernel",
            locked,
        ),
        claim(
            OBSERVATIONS,
            "With room for one message instead of 64, nearly every message is a switch",
            switches,
        ),
        claim(OBSERVATIONS, "without yielding, for its whole time slice", spins),
    ]
}

fn waking() -> Vec<Claim> {
    let notify = |tasks: u32| format!("wake-all --by tokio-notify --runtime tokio --tasks {tasks}");
    vec![
        claim(
            OBSERVATIONS,
            "Threads cost a switch each, tasks only a place in a queue",
            move |run| {
                let threads = run.number("wake-all --tasks 1000", "/switches")?;
                let tasks = run.number(&notify(1000), "/switches")?;
                let ratio = run.ratio("wake-all --tasks 1000", &notify(1000))?;
                Some(threads > 0.9 && tasks < 0.05 && ratio > 5.0)
            },
        ),
        claim(OBSERVATIONS, "Each of 10,000 threads takes longer than each of 1,000", |run| {
            Some(run.ratio("wake-all --tasks 10000", "wake-all --tasks 1000")? > 1.05)
        }),
    ]
}

fn timers() -> Vec<Claim> {
    let timer = |kind: &str, pending: u32| format!("timer-cost --timer {kind} --pending {pending}");
    vec![
        claim(
            OBSERVATIONS,
            "Whether 1,000 or a million others are pending hardly matters",
            move |run| {
                let [few, many] = [1000, 1_000_000].map(|number| timer("tokio-timeout", number));
                let kernel = run.ratio(&timer("timerfd", 1000), &few)?;
                Some(run.ratio(&many, &few)? < 1.5 && kernel > 3.0)
            },
        ),
        claim(OBSERVATIONS, "async-io's tree takes longer the more there are", move |run| {
            Some(run.ratio(&timer("async-io", 1_000_000), &timer("async-io", 1000))? > 1.5)
        }),
        claim(OBSERVATIONS, "by a system call, as each does if none is pending", move |run| {
            let of_tokio = run.ratio(&timer("tokio-timeout", 0), &timer("tokio-timeout", 1000))?;
            let first = timer("tokio --first", 1000);
            Some(of_tokio > 2.0 && run.ratio(&first, &timer("tokio", 1000))? > 2.0)
        }),
        claim(OBSERVATIONS, "The wheel has one lock", move |run| {
            let two = "timer-cost --timer tokio --workers 2 --pending 1000";
            Some(run.ratio(two, &timer("tokio", 1000))? > 1.5)
        }),
    ]
}

fn greed() -> Vec<Claim> {
    let late = |run: &Run, case: &str| {
        let case = format!("{case} --greedy 1 --greedy-for 50000");
        Some(run.number(&case, "/percentiles/p99")? / 1e6)
    };
    vec![
        claim(OBSERVATIONS, "On one worker of tokio it delays them until it yields", move |run| {
            let tokio = "wake-latency --runtime tokio-current-thread --source timer";
            Some((45.0..60.0).contains(&late(run, tokio)?))
        }),
        claim(
            OBSERVATIONS,
            "The kernel lets a thread that wakes preempt one that computes",
            |run| {
                let case = "wake-latency --source timer --greedy 1 --greedy-for 50000 --placement \
                            same-cpu";
                Some(run.figure(case)? < 1e6)
            },
        ),
        claim(OBSERVATIONS, "looks every 10 ms and [preempts after 10 to 20]", move |run| {
            let go = "goroutine-brigade wake --source timer --workers 1";
            Some((10.0..40.0).contains(&late(run, go)?))
        }),
        claim(
            OBSERVATIONS,
            "neither do virtual threads and asyncio, whose sleepers wait for three turns",
            move |run| {
                let java = late(run, "java-brigade wake --workers 1")?;
                let python = late(run, "python-tasks wake")?;
                Some((45.0..60.0).contains(&java) && (120.0..180.0).contains(&python))
            },
        ),
    ]
}

/// What async tasks save at each amount of work, on one CPU with the load or without it.
fn savings(run: &Run, has_own_cpu: bool) -> Option<&Vec<Value>> {
    let groups = run.0["groups"].as_array()?;
    let mut all = groups.iter().filter_map(|group| group["savings"].as_array()).flatten();
    all.find(|savings| savings["place"].is_null() != has_own_cpu)?["steps"].as_array()
}

fn number(step: &Value, pointer: &str) -> Option<f64> {
    step.pointer(pointer)?.as_f64()
}

/// What they save with so many units of work.
fn step(savings: &[Value], units: u64) -> Option<&Value> {
    savings.iter().find(|step| step["units"] == units)
}

/// If the load has its own CPU, async tasks save a quarter to two thirds without work, less than a
/// seventh with 100,000 units or more, and the interval allows a twentieth.
fn what_async_tasks_save_of_a_server_alone(run: &Run) -> Option<bool> {
    let steps = savings(run, true)?;
    let share = |step: &Value| number(step, "/share/value");
    let without = share(step(steps, 0)?)?;
    let with = steps.iter().filter(|step| step["units"].as_u64() >= Some(100_000));
    let holds =
        with.map(|step| Some(share(step)? < 0.15 && number(step, "/share/interval/low")? < 0.05));
    let holds: Vec<bool> = holds.collect::<Option<_>>()?;
    Some((0.25..0.66).contains(&without) && !holds.is_empty() && holds.iter().all(|holds| *holds))
}

/// On one CPU with the load, async tasks save a fifth to two fifths without work. Of what they save if the
/// load has its own CPU that is more than 0.6, and less with 10,000 units of work: a loop then switches at every
/// request, too. With 100,000 units they save a few percent at most, and the interval allows that.
fn what_async_tasks_save(run: &Run) -> Option<bool> {
    let shared = savings(run, false)?;
    let own = savings(run, true)?;
    let share = |step: &Value| number(step, "/share/value");
    let switches = |step: &Value| number(step, "/switches");
    let of_own = |units| Some(share(step(shared, units)?)? / share(step(own, units)?)?);
    let without = step(shared, 0)?;
    let is_large = (0.2..0.4).contains(&share(without)?) && switches(without)? < 0.5;
    let vanishes_sooner = of_own(0)? > 0.6 && of_own(10_000)? < 0.6;
    let more = shared.iter().filter(|step| step["units"].as_u64() >= Some(100_000));
    let is_small =
        more.map(|step| Some(share(step)? < 0.1 && number(step, "/share/interval/low")? < 0.05));
    let is_small: Vec<bool> = is_small.collect::<Option<_>>()?;
    let with = shared.iter().filter(|step| step["units"].as_u64() >= Some(10_000));
    let switches_always =
        with.map(|step| Some(switches(step)? > 0.8)).collect::<Option<Vec<_>>>()?;
    let holds = [is_large, vanishes_sooner, !is_small.is_empty()];
    Some(holds.iter().chain(&is_small).chain(&switches_always).all(|holds| *holds))
}

fn servers() -> Vec<Claim> {
    let alone = what_async_tasks_save_of_a_server_alone;
    let words = "On one CPU work makes the saving vanish sooner because of the load";
    vec![
        claim(README, "In a server, work hides the difference", alone),
        claim(OBSERVATIONS, "As long as a request contains little work", alone),
        claim(OBSERVATIONS, words, what_async_tasks_save),
    ]
}

/// The most that `brigade limits` predicts is at least what threads took on recorded machines.
#[test]
fn threads_need_no_more_memory_than_predicted() {
    let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
    brigade.args(["limits", "--kind", "thread", "--tasks", "10000", "--json"]);
    let limits: Value = serde_json::from_str(&Ended::from(brigade).stdout).expect("JSON");
    let predicted = limits["kinds"][0]["memory_bytes"].as_f64().expect("bytes") / 10_000.0;
    let case = "task-memory --kind thread --tasks 4000";
    let measured: Vec<f64> =
        RUNS.iter().filter_map(|run| run.number(case, "/figure/interval/high")).collect();
    // A Xeon 6, whose kernel has larger objects, took 35.5 KiB.
    let most = measured.iter().copied().fold(35.5 * 1024.0, f64::max);
    assert!(!measured.is_empty() && predicted >= most, "{predicted} of {measured:?}");
}

/// On many Arm machines the clock advances in steps of up to 52 ns, and programs say if laps are short for
/// it. The recorded machines are not among them, but their laps would be long enough there.
#[test]
fn a_lap_lasts_many_steps_of_a_slow_clock() {
    const STEP_NS: f64 = 52.0;
    for folder in repository::recorded_runs() {
        for invocation in bench::records_in(&folder) {
            let measurements = invocation["record"]["measurements"].as_array();
            for lap in measurements.into_iter().flatten().filter(|of| of["name"] == "iteration") {
                let case = &invocation["case"];
                let steps = lap["p50_ns"].as_f64().expect("a median") / STEP_NS;
                assert!(steps >= FEWEST_STEPS, "{case}: {steps} steps");
            }
        }
    }
}
