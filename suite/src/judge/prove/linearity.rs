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
/// numbers of tasks with what ran. On a busy machine a hop that is off shows nothing.
pub fn figures(case: &str, by_tasks: &[(u64, Points)]) -> Vec<Figure> {
    let processes: Vec<Vec<Point>> =
        by_tasks.iter().map(|(_, points)| points.values().copied().collect()).collect();
    let hops: Vec<(u64, ByRound)> = by_tasks
        .iter()
        .map(|(tasks, points)| {
            let hop = |(round, point): (&u32, &Point)| Some((*round, point.hop_in_units()?));
            (*tasks, points.iter().filter_map(hop).collect())
        })
        .collect();
    let mut figures = ratios(case, &hops);
    if is_busy(&processes) {
        let failing = figures.iter_mut().filter(|of| of.standing == Standing::Fails);
        failing.for_each(|of| of.standing = Standing::NotShown);
    }
    figures
}

/// The ratios of hops, which are in units of work.
fn ratios(case: &str, hops: &[(u64, ByRound)]) -> Vec<Figure> {
    let [(fewest, base), others @ ..] = hops else { return Vec::new() };
    let figure = |(tasks, hops): &(u64, ByRound)| {
        let what = format!("{case}: a hop of {tasks} tasks / of {fewest}");
        near_one(what, &[base.clone(), hops.clone()])
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
            figures("x", &hops)[0].standing
        };
        assert_eq!(standing(1.0), Standing::Fails);
        assert_eq!(standing(1.2), Standing::NotShown);
    }

    /// How often a hop that is a percent off fails by chance, of 2000 proofs of one
    /// figure whose pairs scatter by so much: what docs/STATISTICS.md says.
    #[test]
    fn chance_fails_no_figure_on_a_noisy_machine() {
        let mut rng = fastrand::Rng::with_seed(4);
        for scatter in [0.02, 0.05, 0.1, 0.3] {
            // Nearly normal, as sums of twelve are.
            let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
            let mut side = |factor: f64| -> ByRound {
                (1..=16).map(|round| (round, factor * (scatter * normal()).exp())).collect()
            };
            let mut counts = [0; 3];
            for _ in 0..2000 {
                let hops = [(4, side(100.0)), (16, side(101.0))];
                let kinds = [Standing::Holds, Standing::NotShown, Standing::Fails];
                let standing = ratios("x", &hops)[0].standing;
                counts[kinds.iter().position(|kind| *kind == standing).unwrap()] += 1;
            }
            println!("scatter {scatter}: holds, not shown, fails: {counts:?}");
            assert!(counts[2] <= 20, "{scatter}: {counts:?}");
        }
    }

    /// Twelve rounds that scatter by 2 %; more tasks take `longer` times as long.
    fn standings(longer: f64, scatter: f64) -> Vec<Standing> {
        let side = |factor: f64, turn: u32| -> ByRound {
            let at = |round: u32| f64::from((round * 5 + turn) % 12) / 11.0 - 0.5;
            (1..=12).map(|round| (round, factor * (1.0 + scatter * at(round)))).collect()
        };
        let hops = [(4, side(100.0, 0)), (8, side(100.0, 3)), (16, side(100.0 * longer, 7))];
        ratios("x", &hops).iter().map(|figure| figure.standing).collect()
    }

    #[test]
    fn hops_that_grow_with_the_number_of_tasks_fail() {
        assert_eq!(standings(1.0, 0.02), [Standing::Holds, Standing::Holds]);
        assert_eq!(standings(1.07, 0.005), [Standing::Holds, Standing::Fails]);
        assert_eq!(standings(0.93, 0.005), [Standing::Holds, Standing::Fails]);
        assert_eq!(standings(1.0, 0.5), [Standing::NotShown, Standing::NotShown]);
        assert!(ratios("x", &[]).is_empty());
    }
}
