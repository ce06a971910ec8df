//! The machine, and what a process inherits: CPUs, control groups, limits, settings, other load.

pub mod control_groups;
pub mod cpu_kinds;
pub mod cpus;
pub mod emulation;
pub mod inherited;
pub mod limits;
pub mod memory;
pub mod network;
pub mod placement;
pub mod process_stat;
pub mod system_files;
pub mod system_load;
