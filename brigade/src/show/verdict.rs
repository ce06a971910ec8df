//! Words about a whole run: whether its figures can be quoted, what to type if not, and what the next
//! run will show.

use super::command;
use super::page::unbroken;
use super::quantity::{factor, percent, small_share};
use crate::judge::compare::Repeat;
use crate::judge::report::RunSummary;
pub use crate::judge::state::FEWEST_ROUNDS;
use crate::judge::state::{Cause, Pace, State, Word};

/// A verdict on a run.
#[derive(Debug)]
pub struct RunVerdict {
    /// The verdict in one word, such as `QUIET`.
    pub word: &'static str,
    /// Whether nothing speaks against quoting the figures.
    pub is_good: bool,
    /// The reason.
    pub text: String,
}

impl RunVerdict {
    /// The word, then the reason.
    pub fn line(&self) -> String {
        format!("{}: {}", self.word, self.text)
    }
}

/// A cause of lost time that is smaller than this is not named next to a larger one.
const NAMED: f64 = 0.01;

/// What may have taken time from a run that hides throttling.
const HIDDEN_QUOTA: &str = "a CPU quota that cannot be seen from here";

/// Whether the figures of a run can be quoted, why, and what to type if not.
pub fn verdict(run: &RunSummary) -> RunVerdict {
    let state = &run.state;
    let RunVerdict { word, is_good, text } = of_state(state);
    if run.progress.seconds_left.is_some() {
        return match state.word {
            Word::Early => RunVerdict { word: "EARLY", is_good, text: too_few_rounds() },
            _ => RunVerdict { word, is_good, text },
        };
    }
    let telling = telling_word(state);
    let is_too_short = match telling {
        Word::Early => run.progress.is_complete,
        Word::Unknown => state.causes.iter().any(|cause| cause.word == Word::Busy),
        _ => false,
    };
    let text = if is_too_short && let Some(command) = command::longer(run) {
        format!("{text} For a longer run: {command}")
    } else if telling == Word::Early && !run.progress.is_complete && run.progress.resumable {
        format!("{text} Resume the run.")
    } else if !state.is_fit
        && telling != Word::Early
        && let Some(command) = command::same_cases(run)
    {
        let cause = what_disturbed(state);
        let when = when(telling);
        format!("{cause}. Do not quote these figures; repeat it {when}: {command}")
    } else {
        text
    };
    RunVerdict { word, is_good, text }
}

/// The verdict on an ended run in this state.
pub fn of_state(state: &State) -> RunVerdict {
    let others = state.causes.iter().find(|cause| cause.word == Word::Busy);
    let telling = telling_word(state);
    let text = match (telling, others) {
        (Word::Early, _) => too_few_rounds(),
        (Word::Unknown, None) => "nothing shows what other programs took.".to_owned(),
        (Word::Unknown, Some(others)) => format!(
            "in so short a run, nothing shows whether other programs took up to {} of the CPUs.",
            small_share(rounded_up(others.share))
        ),
        (Word::Quiet, _) => {
            state.causes.first().map_or(String::new(), |cause| cause_of(cause, &[]) + ".")
        }
        (Word::Slow | Word::Fast, _) => pace(state.pace),
        (Word::Unsteady, _) => format!("{}. Quote ratios, not times.", changed_speed(state)),
        (_, _) => {
            let advice =
                if state.is_fit { "Quote with care" } else { "Do not quote these figures" };
            format!("{}. {advice}.", what_disturbed(state))
        }
    };
    RunVerdict { word: word(telling), is_good: state.word == Word::Quiet, text }
}

fn too_few_rounds() -> String {
    format!("a verdict takes {FEWEST_ROUNDS} rounds.")
}

/// The state's word. Of a run that is short as well, what disturbed it matters more.
fn telling_word(state: &State) -> Word {
    let seen = state.causes.iter().find(|cause| !cause.is_bound);
    match (state.word, seen) {
        (Word::Early, Some(cause)) if state.is_disturbed() => cause.word,
        (word, _) => word,
    }
}

fn word(word: Word) -> &'static str {
    match word {
        Word::Early => "SHORT",
        Word::Unknown => "UNKNOWN",
        Word::Quiet => "QUIET",
        Word::Slow => "SLOW",
        Word::Fast => "FAST",
        Word::Unsteady => "UNSTEADY",
        Word::Busy => "BUSY",
        Word::Stolen => "STOLEN",
        Word::Throttled => "THROTTLED",
        Word::Stopped => "STOPPED",
        Word::Disturbed => "DISTURBED",
        Word::Emulated => "EMULATED",
    }
}

/// Why a run answers nothing, and the command to type when that is over; `None` if the run does not
/// have it.
pub fn no_answer(state: &State, command: Option<&str>) -> RunVerdict {
    let named = match telling_word(state) {
        Word::Early if state.is_unsteady() => Word::Unsteady,
        other => other,
    };
    let command = command.map_or(String::new(), |command| format!(": {}", unbroken(command)));
    let text = match named {
        Word::Early => format!("{} No answer; repeat it{command}", too_few_rounds()),
        named => {
            format!("{}. No answer; repeat it {}{command}", what_disturbed(state), when(named))
        }
    };
    RunVerdict { word: word(named), is_good: false, text }
}

/// When to repeat a run that was disturbed so.
fn when(word: Word) -> &'static str {
    match word {
        Word::Busy => "when they have ended",
        Word::Stolen => "when the hypervisor has less to do",
        Word::Throttled => "with a larger quota",
        Word::Stopped => "without stopping it",
        Word::Emulated => "on a real machine",
        _ => "later",
    }
}

/// What disturbed a run, such as `other programs took 40 % of the CPUs`.
pub fn what_disturbed(state: &State) -> String {
    if state.is_emulated() {
        return "an emulator ran the programs, so the times are its own".to_owned();
    }
    let seen = state.causes.iter().filter(|cause| !cause.is_bound).enumerate();
    // A machine that changed its speed needs no other cause.
    let is_named = |(index, cause): &(usize, &Cause)| {
        cause.share >= NAMED || *index == 0 && !state.is_unsteady()
    };
    let named = seen.filter(is_named);
    let with_suspect = |cause: &Cause| {
        let text = cause_of(cause, &state.programs);
        if cause.word == Word::Disturbed && state.hides_throttling {
            return format!("{text} ({HIDDEN_QUOTA} may have taken it)");
        }
        text
    };
    let mut causes: Vec<String> = named.map(|(_, cause)| with_suspect(cause)).collect();
    if state.is_unsteady() {
        causes.push(changed_speed(state));
    }
    causes.join(", ")
}

fn changed_speed(state: &State) -> String {
    let change = percent(state.speed_change.unwrap_or(0.0));
    format!("the machine changed speed by {change}")
}

/// How the machine's pace differs from before.
fn pace(pace: Option<Pace>) -> String {
    let Some(Pace { ratio, runs }) = pace else { return String::new() };
    format!(
        "nothing disturbed it, but the reference took {} times as long as in {runs} earlier quiet \
         runs. Quote ratios, not times.",
        factor(ratio)
    )
}

/// One cause of lost time; `programs` are the names of other programs.
fn cause_of(Cause { word, share, is_bound }: &Cause, programs: &[String]) -> String {
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
        _ if programs.is_empty() => format!("other programs took {amount} of the CPUs"),
        _ => format!("other programs took {amount} of the CPUs ({})", programs.join(", ")),
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

#[cfg(test)]
mod tests {
    use super::super::page::pasteable;
    use super::*;
    use crate::fixtures;
    use crate::judge::report::RunProgress;

    /// A run of these words in this state, as far as it went.
    fn run(word: Word, is_fit: bool, command: &[&str]) -> RunSummary {
        let mut run = fixtures::report().run;
        let causes = vec![Cause { word: Word::Busy, share: 0.3, is_bound: is_fit }];
        run.state = State { word, causes, is_fit, is_comparable: is_fit, ..State::default() };
        run.command = command.iter().map(|word| (*word).to_owned()).collect();
        run
    }

    #[test]
    fn a_run_that_can_be_better_says_what_to_type() {
        let groups = ["brigade", "run", "pinned", "a --tasks 2", "--rounds", "2", "--seed", "7"];
        let longer = "brigade run pinned 'a --tasks 2'";
        for (word, is_fit, command, expected) in [
            (Word::Early, true, &groups[..], Some(longer)),
            (Word::Unknown, true, &groups, Some(longer)),
            (Word::Early, true, &["brigade", "run"], Some("brigade run --time 600")),
            (
                Word::Busy,
                false,
                &["brigade", "run", "a", "--seed", "7", "--manifest", "FILE"],
                Some("brigade run a --manifest FILE"),
            ),
            (Word::Busy, false, &groups, Some(longer)),
            (Word::Busy, true, &groups, None),
            (Word::Quiet, true, &groups, None),
            (Word::Slow, true, &groups, None),
            // From a stranger.
            (Word::Busy, false, &["brigade", "run", "--manifest", "x"], None),
            (Word::Busy, false, &["brigade", "run", "--manifest", "FILE", "x"], None),
            (Word::Busy, false, &["rm", "-r", "x"], None),
            (Word::Early, true, &[], None),
        ] {
            let text = pasteable(&verdict(&run(word, is_fit, command)).text);
            let found = text.rsplit_once(": ").map(|(_, command)| command);
            assert_eq!(found, expected, "{text}");
        }
        let RunVerdict { word, text, .. } =
            no_answer(&run(Word::Busy, false, &groups).state, Some("x"));
        assert_eq!((word, text.ends_with(": x")), ("BUSY", true), "{text}");
    }

    #[test]
    fn programs_that_disturbed_a_run_are_named_if_they_are_known() {
        let mut run = run(Word::Busy, false, &["brigade", "run"]);
        let shown = verdict(&run).text;
        assert!(shown.contains(" of the CPUs. ") && !shown.contains('('), "{shown}");
        run.state.programs = ["cargo", "rustc"].map(str::to_owned).to_vec();
        for shown in [verdict(&run).text, no_answer(&run.state, Some("x")).text] {
            assert!(shown.contains(" of the CPUs (cargo, rustc). "), "{shown}");
        }
        // A file contains none.
        assert!(!serde_json::to_string(&run).expect("JSON").contains("cargo"));
    }

    /// In a container, for instance, whose parents may have a quota.
    #[test]
    fn a_quota_that_cannot_be_seen_may_have_taken_unexplained_time() {
        for (word, cause, is_doubt) in [
            (Word::Quiet, Word::Busy, false),
            (Word::Disturbed, Word::Disturbed, true),
            (Word::Busy, Word::Busy, false),
        ] {
            let mut run = run(word, word != Word::Disturbed, &["brigade", "run"]);
            run.state.causes = vec![Cause { word: cause, share: 0.3, is_bound: false }];
            assert!(!verdict(&run).text.contains(HIDDEN_QUOTA), "{word:?}");
            run.state.hides_throttling = true;
            for RunVerdict { text, .. } in [verdict(&run), of_state(&run.state)] {
                assert_eq!(text.matches(HIDDEN_QUOTA).count(), usize::from(is_doubt), "{text}");
            }
            assert_eq!(verdict(&run).is_good, word == Word::Quiet);
        }
    }

    /// Even if it is too short to be judged: more rounds next to those programs would not help.
    #[test]
    fn a_short_run_says_what_disturbed_it() {
        let mut run = run(Word::Early, false, &["brigade", "run"]);
        let RunVerdict { word, text, .. } = verdict(&run);
        assert!(word == "BUSY" && text.contains("other programs took "), "{word}: {text}");
        assert_eq!(of_state(&run.state).word, "BUSY");
        run.progress.seconds_left = Some(1.0);
        assert_eq!(verdict(&run).word, "EARLY");
        run.progress.seconds_left = None;
        run.state.causes[0].is_bound = true;
        for RunVerdict { word, text, .. } in [verdict(&run), no_answer(&run.state, Some("x"))] {
            assert!(word == "SHORT" && !text.contains("other programs"), "{word}: {text}");
        }
    }

    #[test]
    fn a_run_is_early_only_while_it_goes_on() {
        let mut run = run(Word::Early, true, &["brigade", "run"]);
        assert_eq!(verdict(&run).word, "SHORT");
        run.progress = RunProgress { is_complete: false, ..run.progress };
        assert!(!verdict(&run).text.contains("brigade"), "it can be resumed");
        run.progress.seconds_left = Some(1.0);
        let RunVerdict { word, text, .. } = verdict(&run);
        assert_eq!((word, text.contains("brigade")), ("EARLY", false));
    }
}
