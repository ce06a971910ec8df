//! Two arms set against one another.

pub mod comparison;
pub mod looks;
pub mod sample;
#[cfg(test)]
mod simulation;
pub mod verdict;
