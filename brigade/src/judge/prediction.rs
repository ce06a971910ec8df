//! Whether the cost of a request follows from that of hops.

use serde::{Deserialize, Serialize};

use super::row::{Row, row_of};
use super::statistics::{ByRound, CONFIDENCE, DEPENDENT, Estimate, ratio};
use crate::manifest::{Group, Manifest, PredictionSpec};

/// A prediction holds if it is off by at most this share.
pub const NEAR: f64 = 0.1;

/// What a request should cost, next to what it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Prediction {
    /// The server's case.
    pub case: String,
    /// Its figure, in nanoseconds.
    pub measured: Estimate,
    /// The figure that hops predict, in nanoseconds.
    pub predicted: Estimate,
    /// The predicted divided by the measured one.
    pub ratio: Estimate,
}

/// How many predictions hold, and the one that is furthest off; `None` without any.
pub fn agreement(predictions: &[Prediction]) -> Option<(usize, &Prediction)> {
    let off = |prediction: &Prediction| prediction.off().abs();
    let worst = predictions.iter().max_by(|one, other| off(one).total_cmp(&off(other)))?;
    Some((predictions.iter().filter(|prediction| off(prediction) <= NEAR).count(), worst))
}

impl Prediction {
    /// By what share of the measured cost it is too high.
    pub fn off(&self) -> f64 {
        self.ratio.value - 1.0
    }

    /// The predictions of a group for the run with these rows.
    pub fn all<'a>(manifest: &Manifest, group: &Group, rows: &'a [Vec<Row>]) -> Vec<Self> {
        let of_spec = |spec: &PredictionSpec| {
            let rows = |line: &String| -> Vec<Option<&Row>> {
                let cases = manifest.cases_of(line).unwrap_or_default();
                cases.into_iter().map(|case| row_of(rows, &case.name)).collect()
            };
            let [cases, ones, alones, threads] =
                [&spec.case, &spec.one, &spec.alone, &spec.thread].map(rows);
            let [waits, hops] = [&spec.wait, &spec.hop].map(|line| line.as_ref().map(rows));
            let row = |rows: &Vec<Option<&'a Row>>, at| *rows.iter().cycle().nth(at)?;
            let one = |at| {
                let [case, one] = [row(&cases, at)?, row(&ones, at)?];
                let [alone, thread] = [row(&alones, at)?, row(&threads, at)?];
                let wait = waits.as_ref().map_or(Some(alone), |rows| row(rows, at))?;
                // A server without such a ring makes no waits that cost one.
                let waits = case.waits.or(spec.wait.is_none().then_some(0.0))?;
                let hop = hops.as_ref().map_or(Some(wait), |rows| row(rows, at))?;
                Self::of(case, one, waits, [alone, thread, wait, hop])
            };
            (0..cases.len()).filter_map(one).collect::<Vec<_>>()
        };
        group.predictions.iter().flat_map(of_spec).collect()
    }

    /// A request costs as much as with the server `one`, which asks for nothing. In addition, each
    /// switch of server or load costs a thread's hop, and each wait a hop of a loop, both less the
    /// I/O, which is that of `one` already. What a hop of a runtime's task costs more than that of
    /// a loop, each request costs: a wait returns several requests, but the runtime wakes and polls
    /// a task for each.
    fn of(case: &Row, one: &Row, waits: f64, rings: [&Row; 4]) -> Option<Self> {
        let switches = case.sleeps? - one.sleeps?;
        let rings = rings.map(Row::by_round);
        let in_round = |(round, one): (u32, f64)| {
            let rings = rings.each_ref().map(|ring| ring.get(&round));
            let [Some(alone), Some(thread), Some(wait), Some(hop)] = rings else { return None };
            let added = switches * (thread - alone) + waits * (wait - alone) + (hop - wait);
            Some((round, one + added))
        };
        let predicted: ByRound = one.by_round().into_iter().filter_map(in_round).collect();
        Some(Self {
            case: case.label.clone(),
            measured: case.figure?,
            predicted: Estimate::of(&predicted.values().copied().collect::<Vec<_>>())?,
            ratio: ratio(&[predicted, case.by_round()], CONFIDENCE, DEPENDENT)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of this many nanoseconds in the first round, and 10 more in each later one.
    fn row(ns: f64, sleeps: f64) -> Row {
        let figures = (0..5).map(|round| ns + 10.0 * f64::from(round));
        let (figure, sleeps) = (Estimate::of(&[ns]), Some(sleeps));
        Row { figure, sleeps, ..Row::of_figures(figures) }
    }

    // In the third round: 1020 + 1.5 (320 − 120) + 0.25 (220 − 120) + (240 − 220); what slows all
    // cancels in the differences.
    #[test]
    fn switches_waits_and_tasks_cost_what_they_do_in_hops() {
        let [one, alone, thread] = [row(1000.0, 0.5), row(100.0, 0.0), row(300.0, 0.0)];
        let [case, wait, hop] = [row(1000.0, 2.0), row(200.0, 0.0), row(220.0, 0.0)];
        let figure = |[wait, hop]: [&Row; 2]| {
            Prediction::of(&case, &one, 0.25, [&alone, &thread, wait, hop]).unwrap()
        };
        assert_eq!(figure([&wait, &hop]).predicted.value, 1365.0);
        assert_eq!(figure([&wait; 2]).predicted.value, 1345.0);
        let threads = || figure([&alone; 2]);
        assert_eq!(threads().predicted.value, 1320.0);
        assert!((threads().ratio.value - 1320.0 / 1020.0).abs() < 1e-9);
        // That one is too high by 29 %; one that is too low by 9 % holds, by 40 % is further off.
        let mut all = [threads(), threads()];
        for (ratio, expected) in [(0.91, (1, 0)), (0.6, (0, 1))] {
            all[1].ratio.value = ratio;
            assert_eq!(agreement(&all), Some((expected.0, &all[expected.1])));
        }
    }
}
