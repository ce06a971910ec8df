//! A candidate compared with a baseline, case by case.

pub mod comparison;
pub mod interim;
pub mod machine;
pub mod sample;
#[cfg(test)]
mod simulation;
pub mod verdict;
