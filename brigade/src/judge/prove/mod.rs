//! Properties of the instrument, each judged by an experiment of known outcome.

pub mod a_a;
pub mod accounting;
pub mod detection;
pub mod known_counts;
pub mod known_disturbance;
pub mod known_work;
pub mod linearity;
pub mod looks;
pub mod proof;
pub mod ring;
pub mod system_calls;
