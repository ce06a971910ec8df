//! `brigade`, the runner.

mod invocation;

fn main() {}
