//! Whether the cost of a request follows from that of hops: of the part beyond a server that waits
//! for nothing, whose cost no hop explains, and of the differences between kinds.

use serde::Serialize;

use super::row::{Row, row_of};
use super::statistics::{ByRound, Estimate, difference};
use crate::manifest::{GroupSpec, Manifest, PredictionSpec};

/// What a request costs beyond the server `one`, which waits for nothing, and what hops predict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Prediction {
    /// What serves, such as `threads`.
    pub kind: String,
    /// The server's case.
    pub case: String,
    /// The case of `one`.
    pub one: String,
    /// What it costs beyond `one`, in nanoseconds.
    pub measured: Estimate,
    /// What hops predict of that, in nanoseconds.
    pub predicted: Estimate,
    /// The predicted divided by the measured; `null` if the latter is not clearly above 0.
    pub share: Option<f64>,
    /// Switches of server and load per request, beyond those of `one`: the first of two counts that
    /// the prediction multiplies with the cost of a hop.
    pub switches: f64,
    /// Waits of the server per request: the second one.
    pub waits: f64,
}

/// What a request costs more with one kind than with another, and what hops predict of that.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Difference {
    /// The two kinds.
    pub kinds: [String; 2],
    /// Their cases.
    pub cases: [String; 2],
    /// The difference, in nanoseconds.
    pub measured: Estimate,
    /// The difference of the predictions, in nanoseconds.
    pub predicted: Estimate,
    /// The predicted divided by the measured; `null` if the latter is not clearly above 0.
    pub share: Option<f64>,
}

/// A prediction and its two sides by round.
struct Judged {
    prediction: Prediction,
    measured: ByRound,
    predicted: ByRound,
}

impl Prediction {
    /// The predictions of a group for the run with these rows.
    pub fn all(manifest: &Manifest, group: &GroupSpec, rows: &[&[Row]]) -> Vec<Self> {
        judged(manifest, group, rows).into_iter().map(|judged| judged.prediction).collect()
    }
}

impl Difference {
    /// For each server `one` of a group the difference of its first kind to each other.
    pub fn all(manifest: &Manifest, group: &GroupSpec, rows: &[&[Row]]) -> Vec<Self> {
        let judged = judged(manifest, group, rows);
        let is_alike = |one: &Judged, other: &Judged| one.prediction.one == other.prediction.one;
        let of_other = |(at, other): (usize, &Judged)| {
            let first = judged[..at].iter().find(|first| is_alike(first, other))?;
            Self::new(first, other)
        };
        judged.iter().enumerate().filter_map(of_other).collect()
    }

    fn new(first: &Judged, other: &Judged) -> Option<Self> {
        let measured = difference(&[first, other].map(|one| one.measured.clone()))?;
        let predicted = difference(&[first, other].map(|one| one.predicted.clone()))?;
        let sides = [&first.prediction, &other.prediction];
        Some(Self {
            kinds: sides.map(|side| side.kind.clone()),
            cases: sides.map(|side| side.case.clone()),
            share: share(measured, predicted),
            measured,
            predicted,
        })
    }
}

/// The share that is predicted of what is clearly more than nothing.
fn share(measured: Estimate, predicted: Estimate) -> Option<f64> {
    let is_clear = measured.interval.is_some_and(|ends| ends.low > 0.0);
    is_clear.then(|| predicted.value / measured.value)
}

/// The predictions of a group, in the manifest's order.
fn judged(manifest: &Manifest, group: &GroupSpec, rows: &[&[Row]]) -> Vec<Judged> {
    group.predictions.iter().flat_map(|spec| judged_by(manifest, spec, rows)).collect()
}

/// The predictions of one line of the manifest, for each of its cases.
fn judged_by(manifest: &Manifest, spec: &PredictionSpec, rows: &[&[Row]]) -> Vec<Judged> {
    let rows_of = |line: &String| -> Vec<Option<&Row>> {
        let cases = manifest.cases_of(line).unwrap_or_default();
        cases.into_iter().map(|case| row_of(rows, &case.name)).collect()
    };
    let cases = rows_of(&spec.case);
    let ones = rows_of(&spec.one);
    let alones = rows_of(&spec.alone);
    let threads = rows_of(&spec.thread);
    let waits = spec.wait.as_ref().map(rows_of);
    let hops = spec.hop.as_ref().map(rows_of);
    let judge = |at: usize| {
        let case = cases[at]?;
        let alone = row_at(&alones, at)?;
        let thread = row_at(&threads, at)?;
        let wait = match &waits {
            Some(rows) => row_at(rows, at)?,
            None => alone,
        };
        let hop = match &hops {
            Some(rows) => row_at(rows, at)?,
            None => wait,
        };
        // A server without a ring of waits makes none that cost something.
        let waits = if waits.is_some() { case.waits? } else { case.waits.unwrap_or(0.0) };
        let rings = Rings { alone, thread, wait, hop };
        Judged::new(&spec.kind, case, row_at(&ones, at)?, waits, &rings)
    };
    (0..cases.len()).filter_map(judge).collect()
}

/// The row at this place of those that a line names, which repeat.
fn row_at<'a>(rows: &[Option<&'a Row>], at: usize) -> Option<&'a Row> {
    if rows.is_empty() { None } else { rows[at % rows.len()] }
}

/// The rings whose hops a server makes.
struct Rings<'a> {
    alone: &'a Row,
    thread: &'a Row,
    wait: &'a Row,
    hop: &'a Row,
}

impl Judged {
    /// Each switch of server or load that `one` does not make costs a thread's hop, and each wait a
    /// hop of a loop, both less the I/O, which is that of `one` already. What a hop of a runtime's
    /// task costs more than that of a loop, each request costs: a wait returns several requests,
    /// but the runtime wakes and polls a task for each.
    fn new(kind: &str, case: &Row, one: &Row, waits: f64, rings: &Rings) -> Option<Self> {
        let switches = case.sleeps? - one.sleeps?;
        let measured = case.by_round();
        let measured_of_one = one.by_round();
        let alone = rings.alone.by_round();
        let thread = rings.thread.by_round();
        let wait = rings.wait.by_round();
        let hop = rings.hop.by_round();
        let in_round = |round: &u32| {
            let alone = alone.get(round)?;
            let thread = thread.get(round)?;
            let wait = wait.get(round)?;
            let hop = hop.get(round)?;
            let added = switches * (thread - alone) + waits * (wait - alone) + (hop - wait);
            Some((*round, added))
        };
        let predicted: ByRound = measured_of_one.keys().filter_map(in_round).collect();
        let beyond_one = difference(&[measured.clone(), measured_of_one])?;
        let expected = Estimate::of(&predicted.values().copied().collect::<Vec<_>>())?;
        let prediction = Prediction {
            kind: kind.to_owned(),
            case: case.label.clone(),
            one: one.case.clone(),
            measured: beyond_one,
            predicted: expected,
            share: share(beyond_one, expected),
            switches,
            waits,
        };
        Some(Self { prediction, measured, predicted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of this many nanoseconds in the first round, and 10 more in each later one.
    fn row(ns: f64, sleeps: f64) -> Row {
        let row = Row::of_figures((0..5).map(|round| ns + 10.0 * f64::from(round)));
        Row { figure: Estimate::of(&[ns]), sleeps: Some(sleeps), ..row }
    }

    /// A server that costs so much, with two switches and a wait in four requests.
    fn judge(server_ns: f64, wait_ns: f64, hop_ns: f64) -> Judged {
        let [one, alone, thread] = [row(1000.0, 0.5), row(100.0, 0.0), row(300.0, 0.0)];
        let [case, wait, hop] = [row(server_ns, 2.0), row(wait_ns, 0.0), row(hop_ns, 0.0)];
        let rings = Rings { alone: &alone, thread: &thread, wait: &wait, hop: &hop };
        Judged::new("threads", &case, &one, 0.25, &rings).unwrap()
    }

    // In each round: 1.5 (300 − 100) + 0.25 (200 − 100) + (220 − 200); what slows all cancels in the
    // differences.
    #[test]
    fn switches_waits_and_tasks_cost_what_they_do_in_hops() {
        let found = |wait, hop| judge(1600.0, wait, hop).prediction.predicted.value;
        assert_eq!(found(200.0, 220.0), 345.0);
        assert_eq!(found(200.0, 200.0), 325.0);
        assert_eq!(found(100.0, 100.0), 300.0);
    }

    /// Only the part that no server without waits has is judged: that of 1000 ns is not.
    #[test]
    fn what_hops_explain_is_a_share_of_the_rest() {
        for (server_ns, share) in [(1600.0, Some(0.5)), (1150.0, Some(2.0)), (1000.0, None)] {
            let prediction = judge(server_ns, 100.0, 100.0).prediction;
            assert_eq!(prediction.measured.value, server_ns - 1000.0);
            assert_eq!(prediction.share, share, "{server_ns}");
        }
    }

    // Predicted 345 − 300, measured 1900 − 1600: 15 %.
    #[test]
    fn differences_between_kinds_are_judged_too() {
        let [first, other] = [judge(1900.0, 200.0, 220.0), judge(1600.0, 100.0, 100.0)];
        let found = Difference::new(&first, &other).unwrap();
        let values = [found.measured.value, found.predicted.value, found.share.unwrap()];
        assert_eq!(values, [300.0, 45.0, 0.15]);
        let back = Difference::new(&other, &first).unwrap();
        assert_eq!((back.measured.value, back.share), (-300.0, None));
    }
}
