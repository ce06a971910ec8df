//! Words about a whole run: whether its figures can be quoted, and what the next run will show.

use super::quantity::{percent, small_share};
use crate::judge::compare::Repeat;
use crate::judge::report::RunSummary;
pub use crate::judge::state::FEWEST_ROUNDS;
use crate::judge::state::{Cause, State, Word};

/// A verdict on a run.
pub struct Verdict {
    /// The verdict in one word, such as `QUIET`.
    pub word: &'static str,
    /// Whether nothing speaks against quoting the figures.
    pub is_good: bool,
    /// The reason.
    pub text: String,
}

/// A cause of lost time that is smaller than this is not named next to a larger one.
const NAMED: f64 = 0.01;

/// Whether the figures of a run can be quoted, and why.
pub fn verdict(run: &RunSummary) -> Verdict {
    of_state(&run.state)
}

/// The verdict on a run in this state.
pub fn of_state(state: &State) -> Verdict {
    let others = state.causes.iter().find(|cause| cause.word == Word::Busy);
    let text = match (state.word, others) {
        (Word::Early, _) => format!("no verdict before round {FEWEST_ROUNDS}."),
        (Word::Unknown, None) => "the run did not record what other programs used.".to_owned(),
        (Word::Unknown, Some(others)) => format!(
            "in so short a run, nothing shows whether other programs used up to {} of the CPU.",
            small_share(rounded_up(others.share))
        ),
        (Word::Quiet, _) => {
            state.causes.first().map_or(String::new(), |cause| cause_of(cause) + ".")
        }
        (Word::Unsteady, _) => format!("{}. Quote ratios, not times.", changed_speed(state)),
        (_, _) => {
            let advice =
                if state.is_fit { "Quote with care" } else { "Do not quote these figures" };
            format!("{}. {advice}.", what_disturbed(state))
        }
    };
    Verdict { word: word(state.word), is_good: state.word == Word::Quiet, text }
}

fn word(word: Word) -> &'static str {
    match word {
        Word::Early => "EARLY",
        Word::Unknown => "UNKNOWN",
        Word::Quiet => "QUIET",
        Word::Unsteady => "UNSTEADY",
        Word::Busy => "BUSY",
        Word::Stolen => "STOLEN",
        Word::Throttled => "THROTTLED",
        Word::Stopped => "STOPPED",
        Word::Disturbed => "DISTURBED",
    }
}

/// Why a run answers nothing, and the command to type when that is over.
pub fn no_answer(state: &State, command: &str) -> String {
    let repeat = match state.word {
        Word::Busy => "repeat it when they have ended",
        Word::Stolen => "repeat it when the hypervisor is less busy",
        Word::Throttled => "repeat it with a larger quota",
        _ => "repeat it",
    };
    format!("{}: {}. No answer; {repeat}: {command}", word(state.word), what_disturbed(state))
}

/// What disturbed a run, such as `other programs used 40 % of the CPU`.
pub fn what_disturbed(state: &State) -> String {
    let seen = state.causes.iter().filter(|cause| !cause.is_bound).enumerate();
    let named = seen.filter(|(index, cause)| *index == 0 || cause.share >= NAMED);
    let mut causes: Vec<String> = named.map(|(_, cause)| cause_of(cause)).collect();
    if state.is_unsteady() {
        causes.push(changed_speed(state));
    }
    causes.join(", ")
}

fn changed_speed(state: &State) -> String {
    let change = percent(state.speed_change.unwrap_or(0.0));
    format!("the machine changed speed by {change}")
}

/// One cause of lost time.
fn cause_of(Cause { word, share, is_bound }: &Cause) -> String {
    let amount = if *is_bound && *share >= 0.0005 {
        format!("less than {}", small_share(rounded_up(*share)))
    } else {
        small_share(*share)
    };
    match word {
        Word::Stolen => format!("the hypervisor took {amount} of the time"),
        Word::Throttled => format!("a CPU quota took {amount} of the time"),
        Word::Stopped => format!("signals stopped it for {amount} of the time"),
        Word::Disturbed => format!("{amount} of the time is unexplained"),
        _ => format!("other programs used {amount} of the CPU"),
    }
}

/// A bound, rounded up to the decimal that is printed.
fn rounded_up(share: f64) -> f64 {
    (share * 1000.0).ceil() / 1000.0
}

/// The fewest earlier quiet runs of this machine with which the next one is more than guessed.
const ENOUGH_RUNS: usize = 3;

/// How far the figures of the next quiet run will be from these, and how little is known of that.
pub fn next_run(run: &RunSummary) -> Option<String> {
    let Repeat { runs, recorded_runs, recorded_machines, half, tenth, worst } = run.repeat?;
    let [half, tenth, worst] = [half, tenth, worst].map(small_share);
    let forecast = format!(
        "if you run it again, half of these figures will be within {half}, one in ten off by more \
         than {tenth}"
    );
    if runs >= ENOUGH_RUNS {
        return Some(format!(
            "Judging by {runs} earlier quiet runs: {forecast}, the worst by {worst}."
        ));
    }
    let earlier = match runs {
        0 => String::new(),
        1 => "one earlier quiet run and ".to_owned(),
        runs => format!("{runs} earlier quiet runs and "),
    };
    let machines = if recorded_machines == 1 { "machine" } else { "machines" };
    Some(format!(
        "A guess from {earlier}{recorded_runs} recorded runs of {recorded_machines} {machines}: \
         {forecast}."
    ))
}
