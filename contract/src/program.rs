//! A program, described for its tests.

use harness::record::Record;

use crate::invocation::{Invocation, Run};

/// A program, described for its tests.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The name, as in its folder: `env!("CARGO_PKG_NAME")`.
    pub name: &'static str,
    /// The binary: `env!("CARGO_BIN_EXE_…")`.
    pub path: &'static str,
    /// What it measures, in the record's order.
    pub measurements: &'static [Measurement],
    /// Whether it offers `--placement spread`.
    pub spread: Spread,
    /// Whether it traces which hops cross from one CPU to another.
    pub traces: bool,
    /// How many kernel switches it claims for an operation under its default
    /// flags, if it claims a number.
    pub claimed_switches: Option<f64>,
    /// Files that a task opens.
    pub files_per_task: u64,
    /// Threads of the kernel that a task is: 1 or 0.
    pub threads_per_task: u64,
    /// The number of tasks under its default flags, of programs that have no
    /// flag for it.
    pub fixed_tasks: Option<u64>,
}

/// Whether a program offers `--placement spread`.
#[derive(Clone, Copy, Debug)]
pub enum Spread {
    /// With these flags beside it.
    Offered(&'static [&'static str]),
    /// A usage error: it has no neighbours to put on different CPUs.
    Refused,
}

/// A measurement that a program's record must have.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// Its name.
    pub name: &'static str,
    /// What one operation is.
    pub operation: &'static str,
    /// Operations in a sample, from the number of tasks.
    pub operations: fn(u64) -> u64,
    /// Samples, from the numbers of tasks and of iterations.
    pub samples: fn(u64, u64) -> u64,
    /// Whether a sample covers all tasks, so that there is a figure per task.
    pub covers_tasks: bool,
}

impl Measurement {
    /// A brigade's: N + 1 hops to an iteration.
    pub const HOPS: Self = Self {
        name: "iteration",
        operation: "hop",
        operations: |tasks| tasks + 1,
        samples: |_, iterations| iterations,
        covers_tasks: true,
    };

    /// One sample for each iteration, with one operation for each task.
    pub const fn per_task(name: &'static str, operation: &'static str) -> Self {
        Self {
            name,
            operation,
            operations: |tasks| tasks,
            samples: |_, iterations| iterations,
            covers_tasks: true,
        }
    }

    /// One sample in all, with one operation for each task.
    pub const fn once(name: &'static str, operation: &'static str) -> Self {
        Self { samples: |_, _| 1, ..Self::per_task(name, operation) }
    }

    /// A sample for each task of each iteration, of one operation.
    pub const fn of_each_task(name: &'static str, operation: &'static str) -> Self {
        Self {
            name,
            operation,
            operations: |_| 1,
            samples: |tasks, iterations| tasks * iterations,
            covers_tasks: false,
        }
    }
}

impl Program {
    /// A short run: of 5 tasks unless their number is fixed, 20 iterations
    /// and 3 warm-ups.
    pub fn short(&self) -> Invocation {
        self.few_tasks(5).and(&["--iters", "20", "--warmups", "3"])
    }

    /// An invocation with so many tasks, unless their number is fixed.
    pub fn few_tasks(&self, tasks: u64) -> Invocation {
        match self.fixed_tasks {
            Some(_) => self.with(&[]),
            None => self.with(&["--tasks", &tasks.to_string()]),
        }
    }

    /// How many tasks [`Self::short`] has.
    pub fn tasks(&self) -> u64 {
        self.fixed_tasks.unwrap_or(5)
    }

    /// The record of [`Self::short`].
    pub fn short_record(&self) -> Record {
        self.short().and(&["--json"]).run().succeeded().record()
    }

    /// An invocation with these flags.
    pub fn with(&self, flags: &[&str]) -> Invocation {
        Invocation::new(self, flags)
    }

    /// Runs it with these flags to its end.
    pub fn run(&self, flags: &[&str]) -> Run {
        self.with(flags).run()
    }

    /// The record of a run that must succeed, with these flags and `--json`.
    pub fn record(&self, flags: &[&str]) -> Record {
        self.with(flags).and(&["--json"]).run().succeeded().record()
    }

    /// Runs it with these flags, which must be a usage error in one line that
    /// has `words` in it.
    pub fn refuses(&self, flags: &[&str], words: &[&str]) {
        self.run(flags).failed(2, words);
    }
}
