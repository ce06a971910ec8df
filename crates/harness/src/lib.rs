//! The library of every Brigade program, which keeps a program to one page: flags, tasks and the
//! measured loop.
//!
//! Start with [`mod@program`], which runs a program from its command line to its exit code, and
//! [`laps`], the measured loop. [`record`] is the contract between the programs and the runner.

pub mod anonymous;
pub mod async_tasks;
pub mod bench;
pub mod clock;
pub mod control_groups;
pub mod counters;
pub mod cpu_kinds;
pub mod cpus;
pub mod document;
pub mod failure;
pub mod flags;
pub mod hand_over;
pub mod histogram;
pub mod inherited;
pub mod laps;
pub mod limits;
mod line;
pub mod memory;
pub mod network;
pub mod page;
pub mod placement;
pub mod process_stat;
pub mod program;
mod progress;
pub mod record;
pub mod rounds;
pub mod runtime;
mod runtime_kind;
pub mod samples;
pub mod spec;
mod spinners;
mod state;
pub mod station;
pub mod summary;
pub mod system_files;
pub mod system_load;
mod task_kind;
pub mod terminal;
pub mod threads;
pub mod trace;
pub mod usage;
mod words;
pub mod work;

pub use bench::Bench;
pub use flags::{ChannelFlag, StackFlag};
pub use hand_over::Channel;
pub use line::Line;
pub use program::run;
pub use runtime_kind::{RuntimeFlags, RuntimeKind};
pub use samples::Measured;
pub use spec::{Count, Launch, Spec};
pub use station::{LoadFlags, Station, Token};
pub use task_kind::TaskKind;
pub use work::{Work, WorkFlag};
