//! A candidate compared with a baseline, case by case.

pub mod comparison;
pub mod sample;
pub mod verdict;
