//! One sleeper's measurements.

use harness::Measured;
use harness::samples::Samples;
use harness::trace::Stop;

/// One sleeper's measurements. Their memory is allocated before its first
/// wake-up.
#[derive(Clone, Debug)]
pub struct Tally {
    /// From the intended time.
    pub from_intended: Samples,
    /// From the waker's call; empty without calls.
    pub from_call: Samples,
    /// Wake-ups for which the sleeper did not wait.
    pub missed: u64,
    /// The wake-ups of a traced round.
    pub laps: Vec<Vec<Stop>>,
}

/// One wake-up.
#[derive(Clone, Copy, Debug)]
pub struct WakeUp {
    /// When it was due.
    pub intended_ns: u64,
    /// When the waker called, if there is one.
    pub called_ns: Option<u64>,
    /// The waker's thread.
    pub waker: u32,
    /// When the sleeper ran.
    pub ran_ns: u64,
    /// Whether the sleeper had to wait for it.
    pub waited: bool,
}

impl Tally {
    /// Memory of a tally, in bytes, rounded up: two histograms of 264 KiB.
    pub const BYTES: u64 = 544 << 10;
    /// Memory maps of a tally: the allocator maps large blocks separately.
    pub const MAPS: u64 = 2;

    /// An empty tally.
    pub fn new() -> Self {
        let samples = |name| Samples::new(Measured::single(name, "wake-up"));
        Self {
            from_intended: samples("wake-up"),
            from_call: samples("from_call"),
            missed: 0,
            laps: Vec::new(),
        }
    }

    /// Records one wake-up.
    #[inline]
    pub fn add(&mut self, wake_up: WakeUp) {
        let WakeUp { intended_ns, called_ns, ran_ns, waited, .. } = wake_up;
        self.from_intended.add(ran_ns.saturating_sub(intended_ns));
        if let Some(called_ns) = called_ns {
            self.from_call.add(ran_ns.saturating_sub(called_ns));
        }
        self.missed += u64::from(!waited);
    }

    /// Notes a wake-up of the calling thread for the trace.
    pub fn note(&mut self, task: usize, wake_up: WakeUp) {
        let WakeUp { intended_ns, called_ns, waker, ran_ns, .. } = wake_up;
        let now = Stop::here(task as u32);
        let here = |at_ns| Stop { at_ns, ..now };
        let waker = |at_ns| Stop { task: None, tid: waker, ..here(at_ns) };
        let called = |at_ns| vec![waker(intended_ns), waker(at_ns)];
        let mut stops = called_ns.map_or_else(|| vec![here(intended_ns)], called);
        stops.push(here(ran_ns));
        self.laps.push(stops);
    }

    /// Forgets the warm-up.
    pub fn clear(&mut self) {
        self.from_intended.clear();
        self.from_call.clear();
        self.missed = 0;
    }

    /// The measurements of all sleepers.
    pub fn sum(tallies: impl IntoIterator<Item = Self>) -> Self {
        tallies.into_iter().fold(Self::new(), |mut sum, tally| {
            sum.from_intended.merge(&tally.from_intended);
            sum.from_call.merge(&tally.from_call);
            sum.missed += tally.missed;
            sum.laps.extend(tally.laps);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Tally, WakeUp};

    #[test]
    fn a_wake_up_is_late_from_its_intended_time() {
        let mut tally = Tally::new();
        let on_time =
            WakeUp { intended_ns: 100, called_ns: Some(130), waker: 0, ran_ns: 180, waited: true };
        tally.add(on_time);
        tally.clear();
        tally.add(on_time);
        tally.add(WakeUp { intended_ns: 150, ran_ns: 200, waited: false, ..on_time });
        let sum = Tally::sum([tally.clone(), tally, Tally::new()]);
        let mean = |samples: &harness::samples::Samples| {
            let measurement = samples.measurement(1).expect("samples");
            (measurement.count, measurement.mean_ns)
        };
        assert_eq!(mean(&sum.from_intended), (4, 65.0));
        assert_eq!(mean(&sum.from_call), (4, 60.0));
        assert_eq!(sum.missed, 2);
    }
}
