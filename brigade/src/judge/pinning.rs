//! Why threads that take turns are faster on one CPU: what a hop takes longer if the kernel places
//! them, in parts that add up.

use serde::Serialize;

use super::row::{Row, row_of};
use super::statistics::{Estimate, difference};
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
    /// What of the difference goes away if CPUs are kept awake, in nanoseconds.
    pub waking_ns: f64,
    /// What of the rest a hop to another CPU that is awake takes longer, for the hops that go there;
    /// `null` if it is unknown how many do.
    pub interrupt_ns: Option<f64>,
    /// The remainder, in nanoseconds.
    pub rest_ns: f64,
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

    /// Divides the difference: a part is at most what those before it leave, so that they add up.
    fn divided(
        one_cpu: &Row,
        any_cpu: &Row,
        any_cpu_awake: &Row,
        other_cpu_awake: &Row,
    ) -> Option<Self> {
        let difference = difference(&[any_cpu, one_cpu].map(Row::by_round))?.known()?;
        let one_cpu_ns = one_cpu.figure?.value;
        let any_cpu_ns = any_cpu.figure?.value;
        let whole_ns = (any_cpu_ns - one_cpu_ns).max(0.0);
        let waking_ns = (any_cpu_ns - any_cpu_awake.figure?.value).clamp(0.0, whole_ns);
        let to_other_ns = other_cpu_awake.figure?.value - one_cpu_ns;
        let crossing = any_cpu.parts.and_then(|parts| parts.crossing_share);
        let interrupt_ns =
            crossing.map(|share| (share * to_other_ns).clamp(0.0, whole_ns - waking_ns));
        Some(Self {
            one_cpu_ns,
            any_cpu_ns,
            difference,
            waking_ns,
            interrupt_ns,
            rest_ns: whole_ns - waking_ns - interrupt_ns.unwrap_or(0.0),
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
            // More than is left, and less than nothing.
            ([4.0, 12.0, 7.0, 20.0], Some(0.5), [5.0, 3.0, 0.0]),
            ([4.0, 12.0, 13.0, 3.0], Some(0.5), [0.0, 0.0, 8.0]),
            ([4.0, 12.0, 2.0, 8.0], Some(1.0), [8.0, 0.0, 0.0]),
            ([4.0, 12.0, 7.0, 8.0], None, [5.0, 0.0, 3.0]),
            ([4.0, 3.0, 3.0, 8.0], Some(1.0), [0.0; 3]),
        ] {
            let [one, any, awake, other] = times.map(|ns| row(ns, crossing));
            let found = Pinning::divided(&one, &any, &awake, &other).unwrap();
            let parts = [found.waking_ns, found.interrupt_ns.unwrap_or(0.0), found.rest_ns];
            assert_eq!(parts, expected, "{times:?}");
            assert_eq!(found.difference.value, times[1] - times[0]);
            assert_eq!(found.interrupt_ns.is_some(), crossing.is_some());
        }
        let few = [4.0, 12.0, 7.0, 8.0]
            .map(|ns| Row { figure: Estimate::of(&[ns]), ..Row::of_figures([ns; 2]) });
        assert_eq!(Pinning::divided(&few[0], &few[1], &few[2], &few[3]), None);
    }
}
