//! Threads, async tasks and their runtimes, and what they hand over.

pub(crate) mod apart;
pub mod async_tasks;
pub mod crew;
pub mod hand_over;
pub mod runtime;
pub(crate) mod runtime_kind;
pub mod station;
pub(crate) mod task_kind;
pub mod threads;
pub mod tokio_settings;
