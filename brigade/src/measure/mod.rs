//! Everything that touches the machine: building, starting and watching
//! processes, the lock, signals, and what the machine is.

pub mod availability;
pub mod build;
pub mod environment;
pub mod guard;
pub mod guest;
pub mod invoke;
pub mod lock;
pub mod process;
pub mod reference;
pub mod settings;
pub mod signals;
