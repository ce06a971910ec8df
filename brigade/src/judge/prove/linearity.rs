//! Linearity: with the same work before every hop, a hop takes as long among two and
//! four times as many tasks. The work is much longer than what the number of tasks
//! changes, such as what a cache holds, and the mean hop is taken in mean units of the
//! same process, which whatever else the machine does slows alike.

use std::collections::BTreeMap;

use crate::judge::statistics::ByRound;

use super::known_work::{Point, is_busy};
use super::proof::{Figure, Standing};
use super::ring::near_one;

/// A process of each round.
pub type Points = BTreeMap<u32, Point>;

/// The figures of a case: its hop among more tasks over that among the fewest, for
/// numbers of tasks with what ran, with intervals of `confidence`, 0 to 1. On a busy
/// machine a hop that is off shows nothing.
pub fn figures(case: &str, by_tasks: &[(u64, Points)], confidence: f64) -> Vec<Figure> {
    let processes: Vec<Vec<Point>> =
        by_tasks.iter().map(|(_, points)| points.values().copied().collect()).collect();
    let hops: Vec<(u64, ByRound)> = by_tasks
        .iter()
        .map(|(tasks, points)| {
            let hop = |(round, point): (&u32, &Point)| Some((*round, point.hop_in_units()?));
            (*tasks, points.iter().filter_map(hop).collect())
        })
        .collect();
    let mut figures = ratios(case, &hops, confidence);
    if is_busy(&processes) {
        let failing = figures.iter_mut().filter(|of| of.standing == Standing::Fails);
        failing.for_each(|of| of.standing = Standing::NotShown);
    }
    figures
}

/// The ratios of hops, which are in units of work.
fn ratios(case: &str, hops: &[(u64, ByRound)], confidence: f64) -> Vec<Figure> {
    let [(fewest, base), others @ ..] = hops else { return Vec::new() };
    let figure = |(tasks, hops): &(u64, ByRound)| {
        let what = format!("{case}: a hop of {tasks} tasks / of {fewest}");
        near_one(what, &[base.clone(), hops.clone()], confidence)
    };
    others.iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use harness::record::WorkRecord;

    use super::*;
    use crate::store::sample::Sample;

    /// Twelve processes with `unit` nanoseconds for a unit between the laps, of which a
    /// quiet machine takes one, and hops of so many.
    fn points(hop: f64, unit: f64) -> Points {
        let point = |round: u32| {
            let mut record = Sample::hop(hop * unit).in_round("x", round).record.unwrap();
            let mean_ns_per_unit = Some(unit * (1.0 + f64::from(round) / 1e4));
            let ns_per_unit = Some(1.0);
            record.work = Some(WorkRecord { units: 1, ns_per_unit, mean_ns_per_unit });
            (round, Point::of(&record).unwrap())
        };
        (1..=12).map(point).collect()
    }

    #[test]
    fn a_hop_that_is_off_shows_nothing_on_a_busy_machine() {
        let standing = |unit| {
            let hops = [(4, points(1000.0, unit)), (16, points(1100.0, unit))];
            figures("x", &hops, 0.99)[0].standing
        };
        assert_eq!(standing(1.0), Standing::Fails);
        assert_eq!(standing(1.2), Standing::NotShown);
    }

    /// Twelve rounds that scatter by 2 %; more tasks take `longer` times as long.
    fn standings(longer: f64, scatter: f64) -> Vec<Standing> {
        let side = |factor: f64, turn: u32| -> ByRound {
            let at = |round: u32| f64::from((round * 5 + turn) % 12) / 11.0 - 0.5;
            (1..=12).map(|round| (round, factor * (1.0 + scatter * at(round)))).collect()
        };
        let hops = [(4, side(100.0, 0)), (8, side(100.0, 3)), (16, side(100.0 * longer, 7))];
        ratios("x", &hops, 0.99).iter().map(|figure| figure.standing).collect()
    }

    #[test]
    fn hops_that_grow_with_the_number_of_tasks_fail() {
        assert_eq!(standings(1.0, 0.02), [Standing::Holds, Standing::Holds]);
        assert_eq!(standings(1.07, 0.005), [Standing::Holds, Standing::Fails]);
        assert_eq!(standings(0.93, 0.005), [Standing::Holds, Standing::Fails]);
        assert_eq!(standings(1.0, 0.5), [Standing::NotShown, Standing::NotShown]);
        assert!(ratios("x", &[], 0.99).is_empty());
    }
}
