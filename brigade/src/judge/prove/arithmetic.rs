//! Printed arithmetic: a ratio or a difference in a sentence is that of the two
//! figures that stand beside it, as they are printed.

use crate::judge::report::model::{Finding, Side};
use crate::judge::statistics::{Estimate, Interval};

use super::proof::Figure;

/// What three printed digits leave open of a quotient, and of a difference as a share
/// of the larger figure.
const ROUNDING: f64 = 0.02;

/// How many of the sentences agree with their own figures. `printed` is a time as it
/// is printed, in nanoseconds.
pub fn figures(sentences: &[Finding], printed: impl Fn(f64) -> f64) -> Vec<Figure> {
    let what = "sentences that agree with their own figures";
    let judged: Vec<(bool, &str)> =
        sentences.iter().filter_map(|sentence| agreement(sentence, &printed)).collect();
    let agreeing = judged.iter().filter(|(agrees, _)| *agrees).count();
    let wrong = judged.iter().find(|(agrees, _)| !agrees);
    let wrong = wrong.map_or(String::new(), |(_, case)| format!(", not that of {case}"));
    let figure = match judged.len() {
        0 => Figure::missing(what, "no sentence sets two figures against each other"),
        all => Figure::new(format!("{what}{wrong}"), agreeing as f64, "")
            .must(format!("all {all}"), agreeing == all),
    };
    vec![figure]
}

/// Whether a sentence agrees with its figures, and the case that it begins with;
/// `None` for one that sets nothing against anything.
fn agreement(sentence: &Finding, printed: impl Fn(f64) -> f64) -> Option<(bool, &str)> {
    let times = |sides: [&Side; 2]| sides.map(|side| printed(side.time_ns.value));
    match sentence {
        Finding::Comparison { first, second, is_second_longer, ratio, .. } => {
            let [of_first, of_second] = times([first, second]);
            let made = if *is_second_longer { of_second / of_first } else { of_first / of_second };
            Some((is_near(made, ratio, ROUNDING * ratio.value), &first.case))
        }
        Finding::Remainder { of, baseline, difference_ns, .. } => {
            let [whole, part] = times([of, baseline]);
            let rounding = ROUNDING * whole.max(part);
            Some((is_near(whole - part, difference_ns, rounding), &of.case))
        }
        Finding::Aftermath { added_ns, direct_ns, after_ns, case, .. } => {
            let [added, direct] = [added_ns, direct_ns].map(|of| printed(of.value));
            let rounding = ROUNDING * added.abs().max(direct.abs());
            Some((is_near(added - direct, after_ns, rounding), case))
        }
        Finding::Attribution { .. } | Finding::Knee { .. } | Finding::Slope { .. } => None,
    }
}

/// Whether a figure made of two printed ones is the one that is printed, and lies in
/// its interval, as far as `rounding` leaves it open.
fn is_near(made: f64, printed: &Estimate, rounding: f64) -> bool {
    let within =
        |Interval { low, high }: Interval| (low - rounding..=high + rounding).contains(&made);
    (made - printed.value).abs() <= rounding && printed.interval.is_none_or(within)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::proof::Standing;
    use super::*;

    fn side(case: &str, ns: f64) -> serde_json::Value {
        let time_ns = estimate(ns, 0.1 * ns);
        json!({ "case": case, "text": "a hop", "name": "the hop", "time_ns": time_ns,
            "has_two_modes": false })
    }

    fn estimate(value: f64, half: f64) -> serde_json::Value {
        let interval = json!({ "low": value - half, "high": value + half });
        json!({ "value": value, "interval": interval, "count": 10, "estimator": "median" })
    }

    /// A ratio of 5590 to 2350 ns and what remains of 5590 above 1001 ns, as they are
    /// said to be.
    fn sentences(ratio: f64, difference_ns: f64) -> Vec<Finding> {
        let comparison = json!({
            "kind": "comparison", "first": side("threads", 2350.0), "second": side("spread", 5590.0),
            "outcome": "differ", "is_second_longer": true, "ratio": estimate(ratio, 0.2),
            "waiting_ns": null, "crossing_shares": null, "unlike": [],
        });
        let remainder = json!({
            "kind": "remainder", "of": side("ring", 5590.0), "baseline": side("alone", 1001.0),
            "outcome": "differ", "difference_ns": estimate(difference_ns, 300.0),
            "remains": "the switch", "unlike": [],
        });
        [comparison, remainder].map(|of| serde_json::from_value(of).expect("a finding")).into()
    }

    /// What the sentences are found to be, with times to the nanosecond.
    fn judged(sentences: &[Finding]) -> Figure {
        figures(sentences, f64::round).remove(0)
    }

    #[test]
    fn sentences_agree_with_their_figures() {
        let figure = &judged(&sentences(2.379, 4589.0));
        assert_eq!((figure.standing, figure.value), (Standing::Holds, Some(2.0)), "{figure:?}");
    }

    // "2.72 times" of 5.59 against 2.35 µs was made from other rounds.
    #[test]
    fn a_ratio_or_a_difference_of_other_rounds_fails_by_name() {
        for (ratio, difference_ns, case) in [(2.72, 4589.0, "threads"), (2.379, 5440.0, "ring")] {
            let figure = &judged(&sentences(ratio, difference_ns));
            assert_eq!((figure.standing, figure.value), (Standing::Fails, Some(1.0)), "{figure:?}");
            assert!(figure.what.ends_with(&format!("not that of {case}")), "{figure:?}");
        }
    }

    #[test]
    fn without_a_sentence_there_is_nothing_to_judge() {
        assert_eq!(judged(&[]).standing, Standing::Unjudged);
    }
}
