//! The timed operations, next to timers that are pending.

use std::io;
use std::time::Duration;

use anyhow::ensure;
use fastrand::Rng;
use harness::{Bench, Fact, Measured, clock};

use crate::timers::Timers;
use crate::{BATCH, Flags};

/// When pending timers are due, from when they are armed.
const PENDING: [Duration; 2] = [Duration::from_secs(600), Duration::from_secs(4200)];

/// When timed ones are due that are due before those.
const FIRST: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(300)];

/// When a timed timer is due, from when it is armed or reset.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    after: Duration,
    later: Duration,
    earlier: Duration,
}

impl Due {
    /// A time at random between these two, and others before and after it.
    pub fn new([least, most]: [Duration; 2], rng: &mut Rng) -> Self {
        let after = random([least, most], rng);
        Self { after, later: random([after, most], rng), earlier: random([least, after], rng) }
    }
}

fn random([from, to]: [Duration; 2], rng: &mut Rng) -> Duration {
    from + (to - from).mul_f64(rng.f64())
}

/// Arms and cancels the first timer for each of these times.
///
/// # Errors
/// Those of the timers.
#[inline]
pub fn cycle(timers: &mut impl Timers, dues: &[Due]) -> io::Result<()> {
    for due in dues {
        timers.arm(0, due.after)?;
        timers.cancel(0)?;
    }
    Ok(())
}

/// A run's timers, of which the first are timed.
pub struct Driver<'a, T> {
    flags: &'a Flags,
    bench: &'a Bench,
    timers: T,
    /// When each timed one is due.
    pub dues: Vec<Due>,
    /// When the first pending one was armed.
    armed_ns: u64,
}

impl<'a, T: Timers> Driver<'a, T> {
    /// Arms the pending timers.
    pub fn new(flags: &'a Flags, bench: &'a Bench, mut timers: T) -> anyhow::Result<Self> {
        let mut rng = Rng::with_seed(flags.seed);
        let armed_ns = clock::now();
        for slot in (BATCH..flags.slots()).take_while(|_| !bench.is_interrupted()) {
            timers.arm(slot, random(PENDING, &mut rng))?;
        }
        let range = if flags.first { FIRST } else { PENDING };
        let dues = (0..BATCH).map(|_| Due::new(range, &mut rng)).collect();
        Ok(Self { flags, bench, timers, dues, armed_ns })
    }

    /// Measures cycles, then each operation.
    pub fn measure(&mut self) -> anyhow::Result<()> {
        self.cycles()?;
        let arm = |timers: &mut T, slot, due: &Due| timers.arm(slot, due.after);
        let cancel = |timers: &mut T, slot, _: &Due| timers.cancel(slot);
        let nothing = |_: &mut T, _, _: &Due| Ok(());
        self.operation("arm", nothing, arm, cancel)?;
        self.operation("cancel", arm, cancel, nothing)?;
        if T::CAN_RESET {
            let later = |timers: &mut T, slot, due: &Due| timers.reset(slot, due.later);
            let earlier = |timers: &mut T, slot, due: &Due| timers.reset(slot, due.earlier);
            self.operation("reset-later", arm, later, cancel)?;
            self.operation("reset-earlier", arm, earlier, cancel)?;
        }
        let has_fired = clock::now() - self.armed_ns >= PENDING[0].as_nanos() as u64;
        ensure!(
            !has_fired,
            "the run took 10 minutes, so pending timers may have fired: lower --max-time or --iters"
        );
        Ok(())
    }

    fn cycles(&mut self) -> anyhow::Result<()> {
        let before = self.timers.counts();
        let mut cycles = 0.0;
        for lap in self.bench.laps(&[measured("iteration", "cycle")]) {
            cycle(&mut self.timers, &self.dues)?;
            lap.finish();
            cycles += BATCH as f64;
        }
        if self.flags.workers > 1 {
            // The other workers' cycles take CPU time, too.
            self.bench.report(Fact::UnknownCpu);
        }
        if cycles > 0.0 {
            let counts = self.timers.counts();
            if let (Some(calls), Some(before)) = (counts.calls, before.calls) {
                self.bench.report(Fact::SystemCalls((calls - before) as f64 / cycles));
            }
            if let (Some(rebuilds), Some(before)) = (counts.rebuilds, before.rebuilds) {
                self.bench.report(Fact::Rebuilds((rebuilds - before) as f64 / cycles));
            }
        }
        Ok(())
    }

    /// Times an operation on each timed timer, after `before` and before `after` on each.
    fn operation(
        &mut self,
        name: &'static str,
        before: impl Fn(&mut T, usize, &Due) -> io::Result<()>,
        timed: impl Fn(&mut T, usize, &Due) -> io::Result<()>,
        after: impl Fn(&mut T, usize, &Due) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        for lap in self.bench.side_laps(measured(name, name)) {
            self.on_each(&before)?;
            let begun_ns = clock::now();
            self.on_each(&timed)?;
            lap.sample(clock::now() - begun_ns);
            lap.finish();
            self.on_each(&after)?;
        }
        Ok(())
    }

    #[inline]
    fn on_each(
        &mut self,
        operation: impl Fn(&mut T, usize, &Due) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut dues = self.dues.iter().enumerate();
        dues.try_for_each(|(slot, due)| operation(&mut self.timers, slot, due))
    }
}

/// A measurement of 1000 operations.
fn measured(name: &'static str, operation: &'static str) -> Measured {
    Measured { operations: BATCH as u64, ..Measured::single(name, operation) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One is reset to a time between its own and the ends of the range.
    #[test]
    fn timed_timers_are_due_within_their_range() {
        let mut rng = Rng::with_seed(1);
        for range in [PENDING, FIRST] {
            for _ in 0..1000 {
                let Due { after, later, earlier } = Due::new(range, &mut rng);
                assert!([range[0], earlier, after, later, range[1]].is_sorted());
            }
        }
        assert!(FIRST[1] < PENDING[0]);
    }
}
