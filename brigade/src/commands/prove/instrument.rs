//! The clock and the lap: what they cost, and whether the CPUs' clocks agree.

use anyhow::Context;
use harness::cpus;
use harness::instrument::{Crossings, EmptyLap, clock_across, clock_step};

use crate::judge::prove::proof::{Figure, Standing};
use crate::store::invocation::Invocation;

/// The coarsest clock that tells hops apart, in nanoseconds.
const COARSEST_NS: u64 = 1_000;

/// Reads of the clock that an empty lap may seem to take: one lies between its
/// two timestamps, and what cannot be avoided beside it is less.
const MOST_READS: f64 = 2.0;

/// Fewer hand-overs between CPUs say nothing of their clocks.
const FEWEST_HAND_OVERS: u64 = 100;

/// The figures of the clock.
///
/// # Errors
/// When the CPUs that this process may use cannot be read or used.
pub fn clock() -> anyhow::Result<Vec<Figure>> {
    let cpus = cpus::allowed().context("reading which CPUs may be used")?;
    let seen = clock_across(&cpus).context("reading the clock on every CPU")?;
    Ok(vec![step(clock_step()), across(cpus.len(), seen)])
}

fn step(ns: u64) -> Figure {
    let must = format!("below {COARSEST_NS} ns");
    Figure::new("smallest step", ns as f64, "ns").must(must, ns < COARSEST_NS)
}

fn across(cpus: usize, seen: Crossings) -> Figure {
    let Crossings { hand_overs, backwards, least_ns } = seen;
    let least = least_ns.map_or(String::new(), |ns| format!(", {ns} ns ahead at the least"));
    let what = format!("backwards in {hand_overs} hand-overs between {cpus} CPUs{least}");
    if cpus < 2 {
        return Figure::missing("across CPUs", "this process may use one only");
    }
    let standing = match backwards {
        0 if hand_overs < FEWEST_HAND_OVERS => Standing::NotShown,
        times => Standing::of(times == 0),
    };
    Figure::new(what, backwards as f64, "times")
        .judged(format!("0, in {FEWEST_HAND_OVERS} or more"), standing)
}

/// The figures of an empty lap, beside the shortest that `invocations` measured.
pub fn lap<'a>(
    EmptyLap { read_ns, timed_ns, whole_ns }: EmptyLap,
    invocations: impl Iterator<Item = &'a Invocation>,
) -> Vec<Figure> {
    let reads = timed_ns / read_ns;
    let mut figures = vec![
        Figure::new("a read of the clock", read_ns, "ns"),
        Figure::new("an empty lap, from one to the next", whole_ns, "ns"),
        Figure::new("an empty lap, as it is timed", timed_ns, "ns")
            .must(format!("{MOST_READS} reads of the clock at most"), reads <= MOST_READS),
    ];
    let laps = invocations.filter_map(|invocation| {
        let lap = invocation.record.as_ref()?.principal()?;
        Some((lap.p50_ns, invocation.case.as_str()))
    });
    if let Some((shortest, case)) = laps.filter(|(ns, _)| *ns > 0).min() {
        let what = format!("of the shortest lap here, {case} with {shortest} ns");
        figures.push(Figure::new(what, 100.0 * timed_ns / shortest as f64, "%"));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample;

    #[test]
    fn a_clock_that_cannot_tell_hops_apart_fails() {
        let standings = [1, 999, 1000].map(|ns| step(ns).standing);
        assert_eq!(standings, [Standing::Holds, Standing::Holds, Standing::Fails]);
    }

    #[test]
    fn a_lap_that_times_more_than_the_clock_fails() {
        let invocations = sample::case("x", [1000.0; 4]);
        let figures = |timed_ns| {
            let empty = EmptyLap { read_ns: 20.0, timed_ns, whole_ns: 60.0 };
            lap(empty, invocations.iter())
        };
        assert_eq!(figures(40.0)[2].standing, Standing::Holds);
        assert_eq!(figures(41.0)[2].standing, Standing::Fails);
        let shortest = figures(40.0).pop().expect("a figure");
        assert!(shortest.what.starts_with("of the shortest lap here, x with"), "{shortest:?}");
        assert_eq!(figures(40.0).len(), 4);
        assert_eq!(
            lap(EmptyLap { read_ns: 1.0, timed_ns: 1.0, whole_ns: 1.0 }, [].iter()).len(),
            3
        );
    }

    #[test]
    fn a_clock_that_goes_backwards_fails_and_one_hardly_tried_is_not_shown() {
        let standing = |hand_overs, backwards| {
            across(2, Crossings { hand_overs, backwards, least_ns: Some(5) }).standing
        };
        assert_eq!(standing(1000, 0), Standing::Holds);
        assert_eq!(standing(1000, 1), Standing::Fails);
        assert_eq!(standing(99, 0), Standing::NotShown);
        assert_eq!(standing(99, 1), Standing::Fails);
        let nothing = Crossings { hand_overs: 0, backwards: 0, least_ns: None };
        assert_eq!(across(1, nothing).standing, Standing::Unjudged);
    }
}
