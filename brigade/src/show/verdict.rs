//! Words about a whole run: whether its figures can be quoted, and what the next run will show.

use super::quantity::{percent, small_share};
use crate::judge::compare::Repeat;
use crate::judge::lost_time::{LostTime, NOTABLE, is_fit};
use crate::judge::report::RunSummary;

/// A verdict on a run.
pub struct Verdict {
    /// The verdict in one word, such as `QUIET`.
    pub word: &'static str,
    /// Whether nothing speaks against quoting the figures.
    pub is_good: bool,
    /// The reason.
    pub text: String,
}

/// The fewest rounds with a verdict.
pub const FEWEST_ROUNDS: u32 = 3;

/// Whether the figures of a run can be quoted, and why.
pub fn verdict(run: &RunSummary) -> Verdict {
    if run.progress.rounds < FEWEST_ROUNDS {
        let text = format!("no verdict before round {FEWEST_ROUNDS}.");
        return Verdict { word: "EARLY", is_good: false, text };
    }
    let is_known = |lost: &LostTime| lost.share() > NOTABLE || lost.others.is_some();
    let Some(lost) = run.lost_time.filter(is_known) else {
        let text = "the run did not record what other programs used.".to_owned();
        return Verdict { word: "UNKNOWN", is_good: false, text };
    };
    let share = lost.share();
    if share <= NOTABLE {
        let text = format!("other programs used {} of the CPU.", small_share(share));
        return Verdict { word: "QUIET", is_good: true, text };
    }
    let advice = if is_fit(Some(lost)) { "Quote with care" } else { "Do not quote these figures" };
    let others = lost.others.filter(|share| *share > lost.resolution).unwrap_or(0.0);
    let mut causes = [
        (others, "BUSY", "other programs used {} of the CPU"),
        (lost.stolen.unwrap_or(0.0), "STOLEN", "the hypervisor took {} of the time"),
        (lost.throttled, "THROTTLED", "a CPU quota took {} of the time"),
        (lost.stopped, "STOPPED", "signals stopped it for {} of the time"),
        (lost.unexplained, "DISTURBED", "{} of the time is unexplained"),
    ];
    causes.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let [(largest, word, words), ..] = causes;
    let text = words.replacen("{}", &percent(largest), 1);
    Verdict { word, is_good: false, text: format!("{text}. {advice}.") }
}

/// How far the figures of the next run will be from these.
pub fn next_run(run: &RunSummary) -> Option<String> {
    let Repeat { runs, half, tenth, worst } = run.repeat?;
    let next = if is_fit(run.lost_time) { "The next quiet run" } else { "The next run" };
    let from = if runs == 0 { "recorded machines" } else { "earlier runs" };
    Some(format!(
        "{next}, judging by {from}: half of these figures within {}, one in ten off by more \
         than {}, the worst by {}.",
        small_share(half),
        small_share(tenth),
        small_share(worst),
    ))
}
