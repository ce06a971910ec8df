//! Programs, described for their tests.

use harness::record::Record;
use harness::system_files::kib_field;

use crate::invocation::{Invocation, Run};

/// A program, described for its tests.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name of its folder: `harness::program!().name`.
    pub name: &'static str,
    /// The binary: `env!("CARGO_BIN_EXE_…")`.
    pub path: &'static str,
    /// Flags of every short run.
    pub flags: &'static [&'static str],
    /// Its measurements, in the record's order.
    pub measurements: &'static [Measurement],
    /// The flags with which it offers `--placement spread`, if it does.
    pub spread: Option<&'static [&'static str]>,
    /// Whether it traces which hops cross between CPUs.
    pub traces: bool,
    /// Switches per operation that it claims under its default flags, if any.
    pub claimed_switches: Option<f64>,
    /// The number of tasks, for programs without a flag for it.
    pub fixed_tasks: Option<u64>,
}

/// A measurement that a program's record must have.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    pub name: &'static str,
    pub operation: &'static str,
    /// Operations in a sample, from the number of tasks; 0 if it varies.
    pub operations: fn(u64) -> u64,
    /// Samples, from the numbers of tasks and of iterations.
    pub samples: fn(u64, u64) -> u64,
    /// Whether a sample covers all tasks, so that there is a figure per task.
    pub covers_tasks: bool,
}

impl Measurement {
    /// A brigade's: N + 1 hops per iteration.
    pub const HOPS: Self =
        Self { operations: |tasks| tasks + 1, ..Self::per_task("iteration", "hop") };

    /// One sample per iteration, with one operation per task.
    pub const fn per_task(name: &'static str, operation: &'static str) -> Self {
        Self {
            name,
            operation,
            operations: |tasks| tasks,
            samples: |_, iterations| iterations,
            covers_tasks: true,
        }
    }

    /// One sample in all, with one operation per task.
    pub const fn once(name: &'static str, operation: &'static str) -> Self {
        Self { samples: |_, _| 1, ..Self::per_task(name, operation) }
    }

    /// One sample per task and iteration, with one operation.
    pub const fn of_each_task(name: &'static str, operation: &'static str) -> Self {
        Self {
            operations: |_| 1,
            samples: |tasks, iterations| tasks * iterations,
            covers_tasks: false,
            ..Self::per_task(name, operation)
        }
    }
}

impl Program {
    /// A description to be completed.
    pub const NEW: Self = Self {
        name: "",
        path: "",
        flags: &[],
        measurements: &[],
        spread: None,
        traces: false,
        claimed_switches: None,
        fixed_tasks: None,
    };

    /// A short run: 5 tasks unless their number is fixed, 20 iterations, 3 warm-ups.
    pub fn short(&self) -> Invocation {
        self.few_tasks(5).and(&["--iters", "20", "--warmups", "3"])
    }

    /// An invocation with this many tasks, unless their number is fixed.
    pub fn few_tasks(&self, tasks: u64) -> Invocation {
        let run = self.with(self.flags);
        if self.fixed_tasks.is_some() { run } else { run.and(&["--tasks", &tasks.to_string()]) }
    }

    pub fn with(&self, flags: &[&str]) -> Invocation {
        Invocation::new(self, flags)
    }

    pub fn run(&self, flags: &[&str]) -> Run {
        self.with(flags).run()
    }

    pub fn record(&self, flags: &[&str]) -> Record {
        self.with(flags).record()
    }

    /// A figure of its `status` while its tasks are alive, in bytes.
    pub fn memory(&self, flags: &[&str], name: &str) -> u64 {
        let reading = ["--iters=2", "--warmups=1", "--quiet", "--command=cat /proc/{pid}/status"];
        let run = self.with(flags).and(&reading).run().succeeded();
        kib_field(&run.stdout, name).expect("Linux reports it")
    }

    /// Runs it with these flags, which must be a usage error in one line that contains `words`.
    pub fn refuses(&self, flags: &[&str], words: &[&str]) {
        self.run(flags).failed(2, words);
    }

    /// The record of a run with these flags; `None` if the kernel lacks what they need, such as
    /// io_uring.
    pub fn record_if_possible(&self, flags: &[&str]) -> Option<Record> {
        let run = self.with(flags).and(&["--json"]).run();
        if run.code == Some(3) {
            crate::skip(&flags.join(" "), run.complaints()[0]);
            return None;
        }
        Some(run.succeeded().record())
    }
}
