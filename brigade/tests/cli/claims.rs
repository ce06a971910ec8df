//! What README and docs/OBSERVATIONS.md claim of the recorded runs. Each test names the words of a
//! claim, reads every recorded run with its cases under its condition, and fails if there is none.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use contract::repository;
use serde_json::Value;

use crate::bench::Ended;

const README: &str = "README.md";
const OBSERVATIONS: &str = "docs/OBSERVATIONS.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("brigade/ is in the workspace")
}

/// The reports of the recorded runs.
static RUNS: LazyLock<Vec<Run>> = LazyLock::new(|| {
    let report = |folder: std::path::PathBuf| {
        let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
        brigade.args(["report", "--format", "json", "--manifest"]);
        brigade.args([root().join("suite.toml"), folder]);
        let ended = Ended::from(brigade);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        Run(serde_json::from_str(&ended.stdout).expect("JSON"))
    };
    repository::recorded_runs().into_iter().map(report).collect()
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

    /// Whether CPUs fall asleep at most hops to another CPU, in a virtual machine. Where the kernel
    /// counts no idle states, an interrupt shows that the other CPU slept.
    fn has_sleeping_cpus(&self) -> Option<bool> {
        let is_virtual = self.0["run"]["machine"].as_str()?.contains("virtual machine");
        let count = |name: &str| self.number(SPREAD, &format!("/parts/{name}"));
        let sleeps = count("idle_entries").or_else(|| count("interrupts"))?;
        Some(is_virtual && sleeps > 0.5)
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

/// A document without its line breaks.
fn text(document: &str) -> String {
    let text = fs::read_to_string(root().join(document)).expect("a document");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The document has these words, and what they claim holds in every recorded run that can show it.
#[track_caller]
fn claim(document: &str, words: &str, holds: impl Fn(&Run) -> Option<bool>) {
    assert!(text(document).contains(words), "{document} does not say: {words}");
    let found: Vec<_> =
        RUNS.iter().filter_map(|run| Some((&run.0["run"]["name"], holds(run)?))).collect();
    assert!(!found.is_empty(), "no recorded run shows: {words}");
    assert!(found.iter().all(|(_, holds)| *holds), "{words}: {found:?}");
}

const FREE: &str = "thread-brigade";
const PINNED: &str = "thread-brigade --placement same-cpu";
const SPREAD: &str = "thread-brigade --placement spread";
const TOKIO_PIPES: &str = "async-brigade --runtime tokio-current-thread";
const TOKIO_MEMORY: &str = "async-mem-brigade";
const IO_ALONE: &str = "one-thread-brigade";
const LOOP: &str = "event-loop-brigade --loop epoll-edge";

#[test]
fn switching_between_async_tasks_is_cheap() {
    claim(README, "Switching between async tasks is cheap", |run| {
        Some(run.ratio("thread-brigade --channel futex --placement same-cpu", TOKIO_MEMORY)? > 5.0)
    });
}

#[test]
fn about_half_of_an_async_hop_over_pipes_is_waiting_for_the_pipe() {
    claim(README, "About half of an async hop over pipes is finding out", |run| {
        Some((0.4..0.7).contains(&(1.0 - run.ratio(IO_ALONE, TOKIO_PIPES)?)))
    });
}

#[test]
fn to_another_cpu_that_sleeps_a_hop_takes_several_times_as_long() {
    let holds = |run: &Run| {
        let ratio = run.ratio(SPREAD, PINNED)?;
        run.has_sleeping_cpus()?.then_some(ratio > 2.0)
    };
    claim(README, "If idle CPUs sleep, it matters where threads run.** To another CPU", holds);
    claim(OBSERVATIONS, "If idle CPUs sleep, a second CPU makes a ring of threads slower", holds);
}

#[test]
fn free_a_hop_takes_several_times_as_long_and_less_than_always_to_another_cpu() {
    let words = "Placed by the kernel, a hop takes several times as long as on one CPU, and always \
                 to another CPU longer still";
    claim(OBSERVATIONS, words, |run| {
        let [free, spread] = [run.ratio(FREE, PINNED)?, run.ratio(SPREAD, FREE)?];
        run.has_sleeping_cpus()?.then_some(free > 2.0 && spread > 1.2)
    });
}

#[test]
fn hops_of_async_tasks_stay_on_one_cpu() {
    claim(OBSERVATIONS, "so its hops stay on one CPU", |run| {
        Some(run.number("async-brigade", "/parts/crossing_share")? < 0.1)
    });
}

#[test]
fn threads_on_one_cpu_make_more_than_one_switch_a_hop() {
    claim(OBSERVATIONS, "Threads on one CPU make more than one switch a hop", |run| {
        Some(run.number(PINNED, "/switches")? > 1.1)
    });
}

#[test]
fn half_of_a_hop_to_another_cpu_is_waking_it_and_the_interrupt_remains() {
    let awake = "thread-brigade --keep-awake --placement spread";
    let words = "In a virtual machine whose CPUs sleep, half of a hop to another CPU is waking it";
    claim(OBSERVATIONS, words, |run| {
        let share = 1.0 - run.ratio(awake, SPREAD)?;
        let interrupts = run.number(awake, "/parts/interrupts")?;
        run.has_sleeping_cpus()?.then_some((0.35..0.65).contains(&share) && interrupts > 0.5)
    });
}

#[test]
fn a_thread_on_a_new_stack_takes_several_times_as_long_to_create() {
    let [new, old] = ["thread-creation", "thread-creation --tasks 20"];
    let create = |run: &Run| Some(run.phase(new, "create")? / run.phase(old, "create")?);
    claim(README, "Creating a thread takes several times as long if its stack is new", |run| {
        Some(create(run)? > 2.0)
    });
    let words = "with the thread's run and its join about twice as long";
    claim(OBSERVATIONS, words, |run| {
        Some(create(run)? > 2.0 && (1.4..2.8).contains(&run.ratio(new, old)?))
    });
}

#[test]
fn over_pipes_tokio_costs_two_to_three_times_what_a_loop_does() {
    let beyond = |run: &Run, case: &str| Some(run.figure(case)? - run.figure(IO_ALONE)?);
    let words = "Over pipes, tokio costs two to three times what a loop written by hand does";
    claim(OBSERVATIONS, words, |run| {
        Some((1.5..3.5).contains(&(beyond(run, TOKIO_PIPES)? / beyond(run, LOOP)?)))
    });
    claim(OBSERVATIONS, "The other runtimes cost more than tokio", |run| {
        let others =
            ["async-executor", "compio"].map(|name| format!("async-brigade --runtime {name}"));
        let [one, other] = others.map(|case| run.ratio(&case, TOKIO_PIPES));
        Some(one? > 1.1 && other? > 1.1)
    });
    claim(OBSERVATIONS, "io_uring is not faster here", |run| {
        Some(run.ratio("event-loop-brigade --loop io-uring-defer", LOOP)? > 0.95)
    });
}

#[test]
fn a_waiting_thread_holds_most_of_its_memory_in_the_kernel() {
    const IN_KERNEL: [&str; 3] = ["page tables", "kernel stacks", "slab"];
    let share =
        |run: &Run, case: &str| Some(run.bytes(case, &IN_KERNEL)? / run.bytes(case, &["= sum"])?);
    claim(OBSERVATIONS, "A waiting thread holds most of its memory in the kernel", |run| {
        Some(share(run, "task-memory --kind thread --tasks 4000")? > 0.5)
    });
    claim(OBSERVATIONS, "the memory of an async task is all in user space", |run| {
        let on_channel = share(run, "task-memory --kind tokio --waiting channel --tasks 200000");
        Some(on_channel.or_else(|| share(run, "task-memory --kind tokio --tasks 200000"))? < 0.02)
    });
}

#[test]
fn fork_costs_more_the_more_memory_its_parent_has() {
    let more = |run: &Run, via: &str| {
        let case = format!("process-creation --via {via}");
        run.ratio(&format!("{case} --resident-mib 8"), &case)
    };
    claim(OBSERVATIONS, "fork costs more the more memory its parent has", |run| {
        Some(more(run, "fork")? > 1.3)
    });
    claim(OBSERVATIONS, "with `CLONE_VM` do not", |run| {
        let spawn = more(run, "posix-spawn --exec").or_else(|| more(run, "posix-spawn"))?;
        Some([more(run, "vfork")?, more(run, "clone-vm")?, spawn].iter().all(|more| *more < 1.25))
    });
}

/// The case of a lock that so many tasks use.
fn lock(flags: &str, tasks: u32) -> String {
    let flags = if flags.is_empty() { String::new() } else { format!(" {flags}") };
    format!("lock-hand-over{flags} --tasks {tasks} --inside 100 --outside 100")
}

#[test]
fn a_lock_costs_little_until_it_is_handed_over_by_a_switch() {
    let barging = ["", "--lock parking-lot", "--lock pthread"];
    let words = "hardly switch, and cost eight threads about what they cost one";
    claim(OBSERVATIONS, words, |run| {
        let holds = barging.map(|flags| {
            let ratio = run.ratio(&lock(flags, 8), &lock(flags, 1))?;
            Some((0.5..2.0).contains(&ratio) && run.number(&lock(flags, 8), "/switches")? < 0.1)
        });
        holds.into_iter().collect::<Option<Vec<_>>>().map(|all| all.into_iter().all(|holds| holds))
    });
    let inheriting = lock("--lock pthread-pi", 8);
    let words =
        "a mutex with priority inheritance switches every time, and takes tens of times as long";
    claim(OBSERVATIONS, words, |run| {
        let ratio = run.ratio(&inheriting, &lock("--lock pthread", 8))?;
        Some(ratio > 10.0 && run.number(&inheriting, "/switches")? > 0.9)
    });
}

#[test]
fn one_task_takes_nearly_all_turns_of_async_lock_and_tokio_shares_them() {
    let [of_async, of_tokio] =
        ["async-lock", "tokio"].map(|name| lock(&format!("--runtime tokio --lock {name}"), 8));
    // If turns are shared, a task waits for seven others.
    let turns = |run: &Run, case: &str| Some(run.phase(case, "turn")? / run.figure(case)?);
    claim(OBSERVATIONS, "with async-lock's, one task takes nearly all turns", |run| {
        Some(turns(run, &of_async)? > 100.0)
    });
    claim(OBSERVATIONS, "tokio's shares evenly, and is slower", |run| {
        let is_even = (7.0..9.0).contains(&turns(run, &of_tokio)?);
        Some(is_even && run.ratio(&of_tokio, &of_async)? > 1.2)
    });
}

#[test]
fn a_tokio_task_that_does_not_yield_delays_the_others_of_its_worker() {
    let late = |run: &Run, case: &str| {
        let case = format!("{case} --greedy 1 --greedy-for 50000");
        Some(run.number(&case, "/percentiles/p99")? / 1e6)
    };
    let title = "A tokio task that does not yield delays its worker's other tasks for as long";
    claim(OBSERVATIONS, title, |run| {
        let tokio = "wake-latency --runtime tokio-current-thread --source timer";
        Some((45.0..60.0).contains(&late(run, tokio)?))
    });
    let words = "Threads preempt it when they wake";
    claim(OBSERVATIONS, words, |run| {
        let case = "wake-latency --source timer --greedy 1 --greedy-for 50000 --placement same-cpu";
        Some(run.figure(case)? < 1e6)
    });
    let words = "Goroutines wait until Go's monitor has seen it compute for 10 ms";
    claim(OBSERVATIONS, words, |run| {
        Some((5.0..40.0).contains(&late(run, "goroutine-brigade wake --source timer --workers 1")?))
    });
    claim(OBSERVATIONS, "Java's virtual threads wait until it yields", |run| {
        Some((45.0..60.0).contains(&late(run, "java-brigade wake --workers 1")?))
    });
    claim(OBSERVATIONS, "asyncio's for three turns", |run| {
        Some((120.0..180.0).contains(&late(run, "python-tasks wake")?))
    });
}

/// Without work async tasks save a fifth to two fifths, with 13 µs or more a few percent at most,
/// and the interval allows that; a loop then switches at every request, too.
#[test]
fn what_async_tasks_save_of_a_servers_time_falls_with_the_work() {
    let words = "async tasks save a fifth to two fifths. With 13 µs of work in a request they save a \
                 few percent at most, with more work less";
    claim(OBSERVATIONS, words, |run| {
        let groups = run.0["groups"].as_array()?;
        let savings = groups.iter().find_map(|group| group["savings"].as_array()?.first())?;
        let steps = savings["steps"].as_array()?;
        let number = |step: &Value, pointer: &str| step.pointer(pointer)?.as_f64();
        let share = |step: &Value| number(step, "/share/value");
        let without = steps.iter().find(|step| step["units"] == 0)?;
        let with = steps.iter().filter(|step| step["units"].as_u64() >= Some(10_000));
        let holds = with.map(|step| {
            let is_small = share(step)? < 0.1 && number(step, "/share/interval/low")? < 0.05;
            Some(is_small && number(step, "/switches")? > 0.8)
        });
        let holds: Vec<bool> = holds.collect::<Option<_>>()?;
        let is_large = (0.2..0.4).contains(&share(without)?);
        Some(is_large && number(without, "/switches")? < 0.5 && holds.iter().all(|holds| *holds))
    });
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
