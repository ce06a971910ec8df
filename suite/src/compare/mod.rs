//! `brigade compare`: two arms, case by case.

#[cfg(test)]
mod simulation;
pub mod verdict;
