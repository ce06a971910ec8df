//! Why threads that take turns are faster on one CPU: what a hop takes longer if the kernel places
//! them, in parts that add up. Each part is a median over rounds with its interval.

use serde::Serialize;

use super::row::{Row, row_of};
use super::statistics::{ByRound, Estimate, difference};
use crate::manifest::{GroupSpec, PinningSpec};

/// A hop on one CPU and on any CPU, and the parts of the difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Pinning {
    /// A hop on one CPU, in nanoseconds.
    pub one_cpu_ns: f64,
    /// A hop placed by the kernel, in nanoseconds.
    pub any_cpu_ns: f64,
    /// How much longer it takes, round by round, in nanoseconds.
    pub difference: Estimate,
    /// What of the difference goes away if CPUs are kept awake, round by round, in nanoseconds.
    pub waking: Estimate,
    /// What a hop to another CPU that is awake takes longer than on one, for the hops that go there,
    /// in nanoseconds; `null` if it is unknown how many do.
    pub interrupt: Option<Estimate>,
    /// What the parts leave of the difference, in nanoseconds.
    pub rest: Estimate,
}

impl Pinning {
    /// The parts in the run with these rows; `None` if the group asks for none, a case is missing, or
    /// there are too few rounds.
    pub fn new(group: &GroupSpec, rows: &[&[Row]]) -> Option<Self> {
        let PinningSpec { one_cpu, any_cpu, any_cpu_awake, other_cpu_awake } =
            group.pinning.as_ref()?;
        let of_case = |case: &String| row_of(rows, case);
        Self::divided(
            of_case(one_cpu)?,
            of_case(any_cpu)?,
            of_case(any_cpu_awake)?,
            of_case(other_cpu_awake)?,
        )
    }

    /// Divides the difference. The rest is what the parts leave, so that they add up, and as uncertain
    /// as the same round by round.
    fn divided(
        one_cpu: &Row,
        any_cpu: &Row,
        any_cpu_awake: &Row,
        other_cpu_awake: &Row,
    ) -> Option<Self> {
        let [one, any, any_awake, other_awake] =
            [one_cpu, any_cpu, any_cpu_awake, other_cpu_awake].map(Row::by_round);
        let whole = difference(&[any.clone(), one.clone()])?.known()?;
        let waking = difference(&[any, any_awake.clone()])?.known()?;
        let crossing = any_cpu.parts.and_then(|parts| parts.crossing_share);
        let interrupt = match crossing {
            Some(share) => {
                let to_other = difference(&[other_awake.clone(), one.clone()])?.known()?;
                Some(to_other.map(|ns| share * ns))
            }
            None => None,
        };
        // What a hop takes on one CPU and for the interrupts.
        let explained: ByRound = one
            .into_iter()
            .filter_map(|(round, ns)| {
                let interrupt = match crossing {
                    Some(share) => share * (other_awake.get(&round)? - ns),
                    None => 0.0,
                };
                Some((round, ns + interrupt))
            })
            .collect();
        let rest = difference(&[any_awake, explained])?.known()?;
        let left_ns = whole.value - waking.value - interrupt.map_or(0.0, |ns| ns.value);
        Some(Self {
            one_cpu_ns: one_cpu.figure?.value,
            any_cpu_ns: any_cpu.figure?.value,
            difference: whole,
            waking,
            interrupt,
            rest: rest.map(|ns| ns + left_ns - rest.value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Parts;
    use super::*;

    fn row(ns: f64, crossing: Option<f64>) -> Row {
        let parts = Parts {
            elapsed_ns: ns,
            user_ns: 0.0,
            kernel_ns: ns,
            division_error_ns: None,
            waiting_ns: 0.0,
            overlap_ns: 0.0,
            waiting_for: None,
            idle_entries: None,
            interrupts: None,
            crossing_share: crossing,
        };
        let row = Row::of_figures([ns; 6]);
        Row { figure: Estimate::of(&row.values()), parts: Some(parts), ..row }
    }

    /// A hop on one CPU, on any, on any that is awake, and to another that is; and the share of hops
    /// that go to another CPU.
    #[test]
    fn the_parts_add_up_to_the_difference() {
        for (times, crossing, expected) in [
            ([4.0, 12.0, 7.0, 8.0], Some(0.5), [5.0, 2.0, 1.0]),
            // What is negative is not hidden.
            ([4.0, 12.0, 7.0, 20.0], Some(0.5), [5.0, 8.0, -5.0]),
            ([4.0, 12.0, 13.0, 3.0], Some(0.5), [-1.0, -0.5, 9.5]),
            ([4.0, 12.0, 7.0, 8.0], None, [5.0, 0.0, 3.0]),
            ([4.0, 3.0, 3.0, 8.0], Some(1.0), [0.0, 4.0, -5.0]),
        ] {
            let [one, any, awake, other] = times.map(|ns| row(ns, crossing));
            let found = Pinning::divided(&one, &any, &awake, &other).unwrap();
            let interrupt = found.interrupt.map_or(0.0, |ns| ns.value);
            let parts = [found.waking.value, interrupt, found.rest.value];
            assert_eq!(parts, expected, "{times:?}");
            assert_eq!(found.difference.value, times[1] - times[0]);
            assert_eq!(found.interrupt.is_some(), crossing.is_some());
        }
        let few = [4.0, 12.0, 7.0, 8.0]
            .map(|ns| Row { figure: Estimate::of(&[ns]), ..Row::of_figures([ns; 2]) });
        assert_eq!(Pinning::divided(&few[0], &few[1], &few[2], &few[3]), None);
    }

    /// Waking costs nothing, but the medians of the two differ.
    #[test]
    fn a_part_is_paired_by_round_and_has_an_interval() {
        let rounds = |figures: [f64; 6]| Row {
            figure: Estimate::of(&figures),
            parts: row(1.0, Some(0.5)).parts,
            ..Row::of_figures(figures)
        };
        let any = rounds([12.0, 13.0, 14.0, 15.0, 16.0, 17.0]);
        let awake = rounds([12.4, 12.6, 14.4, 14.6, 16.4, 16.6]);
        let [one, other] = [4.0, 8.0].map(|ns| row(ns, None));
        let found = Pinning::divided(&one, &any, &awake, &other).unwrap();
        assert!(!found.waking.excludes(0.0), "{found:?}");
        assert!(found.interrupt.unwrap().excludes(0.0), "{found:?}");
        let sum = found.waking.value + found.interrupt.unwrap().value + found.rest.value;
        assert!((sum - found.difference.value).abs() < 1e-9, "{found:?}");
        assert!(!found.rest.excludes(found.rest.value));
    }
}
