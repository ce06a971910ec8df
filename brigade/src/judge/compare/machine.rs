//! How the machine itself differed between two runs, by work that belongs to no
//! program: a shared machine is faster in one minute than in another, and that is
//! no difference between builds.

use serde::{Deserialize, Serialize};

use super::verdict::{Pair, Ratio};
use crate::judge::statistics::{Interval, median};
use crate::store::invocation::{Invocation, Reference};

/// The median times of the references of the second run divided by those of the
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machine {
    /// Of work in the kernel.
    pub kernel: f64,
    /// Of work outside it.
    pub user: f64,
}

impl Machine {
    /// Of two runs; `None` where one has no reference.
    pub fn of(runs: Pair<&[Invocation]>) -> Option<Self> {
        let ratio = |time: fn(&Reference) -> f64| {
            let of_run = |run: &[Invocation]| {
                let times = run.iter().filter_map(|invocation| invocation.reference.as_ref());
                let times: Vec<f64> = times.map(time).collect();
                median(&times).filter(|time| *time > 0.0 && time.is_finite())
            };
            let [first, second] = runs.map(of_run);
            Some(second? / first?)
        };
        Some(Self { kernel: ratio(|of| of.kernel_ns)?, user: ratio(|of| of.user_ns)? })
    }

    /// The factors by which a case may take longer without a difference of its
    /// own: as much as either reference does, or not at all.
    fn explained(self) -> Interval {
        let Self { kernel, user } = self;
        Interval { low: kernel.min(user).min(1.0), high: kernel.max(user).max(1.0) }
    }

    /// The ratio of two builds, of which the machine has an unknown part: its
    /// interval holds whatever is left when the machine had any share from none to
    /// all that it can explain. The estimate stays what was measured.
    pub fn widened(self, ratio: Ratio) -> Ratio {
        let Interval { low, high } = self.explained();
        let widened = |ends: Interval| Interval { low: ends.low / high, high: ends.high / low };
        Ratio { interval: ratio.interval.map(widened), ..ratio }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::case;

    fn run(kernel_ns: [f64; 3], user_ns: f64) -> Vec<Invocation> {
        let mut run = case("ring", [1.0; 3]);
        for (invocation, kernel_ns) in run.iter_mut().zip(kernel_ns) {
            invocation.reference = Some(Reference { cpu: 0, kernel_ns, user_ns });
        }
        run
    }

    #[test]
    fn the_machine_is_what_the_references_say() {
        let (first, second) = (run([100.0, 200.0, 900.0], 2.0), run([220.0, 1.0, 230.0], 1.0));
        let machine = Machine::of([&first, &second]);
        assert_eq!(machine, Some(Machine { kernel: 1.1, user: 0.5 }));
        let mut without = second.clone();
        without.iter_mut().for_each(|invocation| invocation.reference = None);
        assert_eq!(Machine::of([&first, &without]), None);
        assert_eq!(Machine::of([&first, &run([0.0; 3], 1.0)]), None);
        without[1].reference = second[0].reference;
        assert_eq!(Machine::of([&first, &without]), machine, "one is enough");
    }

    #[test]
    fn what_the_machine_can_explain_is_no_difference() {
        let ratio = Ratio { estimate: 1.2, interval: Some(Interval { low: 1.1, high: 1.3 }) };
        let ends = |kernel, user| Machine { kernel, user }.widened(ratio).interval.unwrap();
        assert_eq!(ends(1.0, 1.0), Interval { low: 1.1, high: 1.3 });
        assert_eq!(ends(1.25, 1.0), Interval { low: 1.1 / 1.25, high: 1.3 });
        assert_eq!(ends(1.25, 0.5), Interval { low: 1.1 / 1.25, high: 1.3 / 0.5 });
        assert_eq!(ends(0.8, 0.9), Interval { low: 1.1, high: 1.3 / 0.8 });
    }
}
