//! Everything that touches the machine: finding, starting and watching
//! processes, the lock, signals, and facts about the machine.

mod arm_cores;
pub mod availability;
mod complaint;
pub mod environment;
pub mod executables;
pub mod guest;
pub mod invoke;
pub mod lock;
pub mod others;
pub mod ownership;
pub mod process;
pub mod sources;
