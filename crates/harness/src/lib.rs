//! The library of every Brigade program, which keeps a program to one page: flags, tasks and the
//! measured loop.
//!
//! Start with [`mod@program`], which runs a program from its command line to its exit code, and
//! [`laps`], the measured loop. [`record`] is the contract between the programs and the runner.

pub mod anonymous;
pub mod document;
pub mod failure;
pub mod flags;
mod line;
mod machine;
mod measure;
pub mod page;
pub mod program;
pub mod record;
pub mod spec;
mod tasks;
pub mod terminal;
mod words;

pub use flags::{ChannelFlag, StackFlag};
pub use line::Line;
pub use machine::{
    control_groups, cpu_kinds, cpus, emulation, inherited, limits, memory, network, placement,
    process_stat, system_files, system_load,
};
pub use measure::bench::Bench;
pub use measure::blocks::Blocks;
pub use measure::lateness::Lateness;
pub use measure::samples::Measured;
pub use measure::state::Fact;
pub use measure::work::{Work, WorkFlag};
pub use measure::{
    bench, clock, counters, histogram, laps, reference, rounds, samples, spinners, summary, trace,
    usage, watch, work,
};
pub use program::run;
pub use spec::{Count, Launch, Spec};
pub use tasks::apart::Apart;
pub use tasks::hand_over::Channel;
pub use tasks::runtime_kind::{RuntimeFlags, RuntimeKind};
pub use tasks::station::{LoadFlags, Station, Token};
pub use tasks::task_kind::TaskKind;
pub use tasks::{async_tasks, crew, hand_over, runtime, station, threads, tokio_settings};
