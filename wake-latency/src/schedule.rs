//! The intended times: an open loop, which no wake-up delays.

/// A number of wake-ups at a rate, for tasks in turn.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The intended time of the first, on the clock of [`harness::clock`].
    pub begin_ns: u64,
    /// Wake-ups per second.
    pub rate: u32,
    /// Wake-ups in all.
    pub count: u64,
    /// Number of tasks, which take turns.
    pub tasks: u64,
}

impl Schedule {
    /// The intended time of wake-up `number`, in nanoseconds, rounded down.
    pub fn intended_ns(&self, number: u64) -> u64 {
        let after = u128::from(number) * 1_000_000_000 / u128::from(self.rate);
        self.begin_ns.saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// The wake-ups of one task, in order.
    pub fn of_task(&self, task: usize) -> impl Iterator<Item = u64> + use<> {
        let (count, tasks) = (self.count, self.tasks);
        std::iter::successors(Some(task as u64), move |number| number.checked_add(tasks))
            .take_while(move |number| *number < count)
    }

    /// The wake-ups by one of several wakers, in order, each with its task. Each task belongs to
    /// one waker.
    pub fn of_waker(
        &self,
        waker: usize,
        wakers: usize,
    ) -> impl Iterator<Item = (u64, usize)> + use<> {
        let tasks = self.tasks;
        (0..self.count)
            .map(move |number| (number, (number % tasks) as usize))
            .filter(move |(_, task)| task % wakers == waker)
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    const SCHEDULE: Schedule = Schedule { begin_ns: 500, rate: 3, count: 8, tasks: 3 };

    #[test]
    fn times_do_not_drift() {
        assert_eq!(SCHEDULE.intended_ns(0), 500);
        assert_eq!(SCHEDULE.intended_ns(1), 333_333_833);
        assert_eq!(SCHEDULE.intended_ns(3_000_000), 1_000_000_000_000_500);
        assert_eq!(SCHEDULE.intended_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn tasks_and_wakers_take_turns() {
        let of_task = |task| SCHEDULE.of_task(task).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(of_task), [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
        assert!(of_task(9).is_empty());
        let of_waker = |waker| SCHEDULE.of_waker(waker, 2).collect::<Vec<_>>();
        assert_eq!(of_waker(0), [(0, 0), (2, 2), (3, 0), (5, 2), (6, 0)]);
        assert_eq!(of_waker(1), [(1, 1), (4, 1), (7, 1)]);
    }
}
