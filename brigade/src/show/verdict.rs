//! Words about a whole run: whether its figures can be quoted, and what the next run will show.

use super::quantity::{percent, small_share};
use crate::judge::lost_time::{LostTime, NOTABLE, UNFIT};
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

/// Whether the figures of a run can be quoted, and why.
pub fn verdict(run: &RunSummary) -> Verdict {
    let Some(lost) = run.lost_time else {
        let text = "the run did not record what else used the CPUs.".to_owned();
        return Verdict { word: "UNKNOWN", is_good: false, text };
    };
    let share = lost.share();
    if share <= NOTABLE {
        return match lost.others {
            None => Verdict {
                word: "UNKNOWN",
                is_good: false,
                text: "the run did not record the use by others.".to_owned(),
            },
            Some(_) => Verdict {
                word: "QUIET",
                is_good: true,
                text: format!("others used {} of the CPU time.", small_share(share)),
            },
        };
    }
    let worst = [
        (lost.stolen.unwrap_or(0.0), "STOLEN"),
        (lost.throttled, "THROTTLED"),
        (lost.stopped, "STOPPED"),
        (lost.others.unwrap_or(0.0), "BUSY"),
        (lost.unexplained, "DISTURBED"),
    ];
    let worst = worst.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let advice = if share > UNFIT { "Do not quote these figures" } else { "Quote with care" };
    let word = worst.map_or("DISTURBED", |(_, word)| word);
    let text = format!("of the CPU time {}. {advice}.", causes(&lost).join(", "));
    Verdict { word, is_good: false, text }
}

/// What kept tasks from running, as shares of the CPU time available to them.
pub fn causes(lost: &LostTime) -> Vec<String> {
    let others = lost.others.filter(|share| *share > lost.resolution);
    let shares = [
        (others, "other programs used"),
        (lost.stolen, "the hypervisor took"),
        (Some(lost.stopped), "signals stopped it for"),
        (Some(lost.unexplained), "unexplained:"),
    ];
    let shares = shares.into_iter().filter_map(|(share, who)| Some((share?, who)));
    let shares = shares.filter(|(share, _)| *share > NOTABLE / 4.0);
    let quota = lost.throttled_periods.filter(|[used_up, _]| *used_up > 0);
    let quota = quota.map(|[used_up, periods]| {
        let share = percent(lost.throttled);
        format!("the CPU quota throttled it in {used_up} of {periods} periods, {share}")
    });
    shares.map(|(share, who)| format!("{who} {}", percent(share))).chain(quota).collect()
}

/// How much the figures of the next run will differ, from earlier runs of this build.
pub fn next_run(run: &RunSummary) -> Option<String> {
    let of = run.repeat?;
    Some(format!(
        "{} runs of this build: half of the figures within {}, one in ten off by more than {}, the \
         worst by {}.",
        of.runs,
        small_share(of.half),
        percent(of.tenth),
        percent(of.worst),
    ))
}
