//! The tasks of a brigade in a line, each between two channels.

use std::{io, mem};

use crate::failure;

/// A brigade with its tasks created.
#[derive(Debug)]
pub struct Line<R, S, T> {
    /// Where the driver sends the token to task 0.
    pub first: S,
    /// Where the driver receives it from the last task.
    pub last: R,
    /// The tasks, in order.
    pub tasks: Vec<T>,
}

impl<R, S, T> Line<R, S, T> {
    /// Creates the tasks with these numbers: `start` starts each between its upstream and its
    /// downstream channel. `open` opens the channels.
    ///
    /// # Errors
    /// If `start` fails, or a channel cannot be opened; then with its number.
    pub fn create(
        numbers: impl Iterator<Item = usize>,
        mut open: impl FnMut() -> io::Result<(R, S)>,
        mut start: impl FnMut(usize, R, S) -> anyhow::Result<T>,
    ) -> anyhow::Result<Self> {
        let mut open = |number: usize| open().map_err(failure::of_channel(number));
        let (mut last, first) = open(0)?;
        let mut tasks = Vec::with_capacity(numbers.size_hint().1.unwrap_or(0));
        for task in numbers {
            let (source, downstream) = open(tasks.len() + 1)?;
            tasks.push(start(task, mem::replace(&mut last, source), downstream)?);
        }
        Ok(Self { first, last, tasks })
    }
}
