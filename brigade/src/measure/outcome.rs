//! What an ended process amounts to: its outcome, its record, and the reason
//! in one line if it did not measure.

use std::os::unix::process::ExitStatusExt;

use harness::record::Record;
use nix::sys::signal::Signal;
use serde::de::IgnoredAny;

use crate::exit::Exit;
use crate::manifest::Case;
use crate::measure::guest::Guest;
use crate::measure::process::{Cause, Ended, STDOUT_BOUND};
use crate::store::consistency;
use crate::store::invocation::Outcome;

/// What came of a process.
#[derive(Debug)]
pub struct Verdict {
    /// The outcome.
    pub outcome: Outcome,
    /// Whether the runner ended it because it was interrupted itself.
    pub interrupted: bool,
    /// Why it is not [`Outcome::Measured`], in one line.
    pub error: Option<String>,
    /// The record, if exactly one was printed, whatever the outcome.
    pub record: Option<Record>,
}

impl Verdict {
    /// Holds what was measured to what can be true and to what was asked for:
    /// a record that is neither is kept and counts as failed.
    pub fn held_to(mut self, case: &Case) -> Self {
        let Some(record) = &self.record else { return self };
        let verified = consistency::verify_origin(record, &case.program, case.placement.as_str())
            .and_then(|()| consistency::verify(record))
            .map_err(|reason| on_one_line(&format!("{reason:#}")));
        if let (Outcome::Measured, Err(reason)) = (self.outcome, verified) {
            (self.outcome, self.error) = (Outcome::Failed, Some(reason));
        }
        self
    }
}

/// Judges an ended process; `guest` is what was heard of one that prints laps.
pub fn classify(ended: &Ended, guest: Option<Guest>) -> Verdict {
    let whereabouts = guest.as_ref().map_or("", Guest::whereabouts);
    let record = match guest {
        None => read_record(&ended.stdout),
        Some(guest) => guest.record(&ended.stdout),
    };
    let interrupted = ended.cause == Cause::Stopped && !ended.status.success();
    let (outcome, error) = match ended.cause {
        Cause::TimedOut => (
            Outcome::TimedOut,
            Some(format!(
                "was killed after {:.1} s, its case's timeout_seconds",
                ended.duration.as_secs_f64()
            )),
        ),
        Cause::Flooded => (
            Outcome::Failed,
            Some(format!(
                "was killed: it printed more than {} MiB on standard output",
                STDOUT_BOUND / (1024 * 1024)
            )),
        ),
        Cause::Stopped if interrupted => {
            (Outcome::Failed, Some("was interrupted with the run".to_owned()))
        }
        Cause::Stopped | Cause::Itself => judge_status(ended, &record, whereabouts),
    };
    Verdict { outcome, interrupted, error, record: record.ok() }
}

/// Judges a process that ended by itself.
fn judge_status(
    ended: &Ended,
    record: &Result<Record, String>,
    whereabouts: &str,
) -> (Outcome, Option<String>) {
    let code = ended.status.code();
    if code == Some(Exit::Done.code().into()) {
        return match record {
            Ok(record) if record.complete => (Outcome::Measured, None),
            Ok(_) => (
                Outcome::Failed,
                Some("exited with 0, but its record says that it is not complete".to_owned()),
            ),
            Err(reason) => (Outcome::Failed, Some(reason.clone())),
        };
    }
    let refused = code == Some(Exit::Limit.code().into());
    let outcome = if refused { Outcome::Refused } else { Outcome::Failed };
    let own_words = record.as_ref().ok().and_then(|record| record.error.clone());
    let reason = own_words
        .or_else(|| last_line(&ended.stderr))
        .unwrap_or_else(|| "it gave no reason".to_owned());
    (outcome, Some(format!("{}{whereabouts}: {}", how_it_ended(ended), on_one_line(&reason))))
}

fn how_it_ended(ended: &Ended) -> String {
    match (ended.status.code(), ended.status.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(number)) => match Signal::try_from(number) {
            Ok(signal) => format!("ended by {signal}"),
            Err(_) => format!("ended by signal {number}"),
        },
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

/// Reads the one record that a program prints.
fn read_record(stdout: &[u8]) -> Result<Record, String> {
    let text = str::from_utf8(stdout)
        .map_err(|_| "its standard output is not text; a record is JSON".to_owned())?
        .trim();
    if text.is_empty() {
        return Err("printed no record".to_owned());
    }
    Record::parse(text).map_err(|error| match json_values(text) {
        0 | 1 => on_one_line(&error.to_string()),
        n => format!("printed {n} JSON values, and not one record"),
    })
}

/// How many JSON values `text` consists of; 0 if it is anything else.
fn json_values(text: &str) -> usize {
    let values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.collect::<Result<Vec<_>, _>>().map_or(0, |values| values.len())
}

/// The last line that is not blank.
pub fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.to_owned())
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::process::ExitStatus;
    use std::time::Duration;

    use super::*;

    const RECORD: &str = r#"{"schema_version":"1.0","program":"p","version":"0.1.0",
        "parameters":{},"tasks":1,"tokens":1,"iterations":1,"warmups":0,"complete":true,
        "ended_by":"iterations","error":null,"affinity":[0],"measurements":[],"cpu":null,
        "switches":null,"interference":{"steal_ns":null,"psi_cpu_some_ns":null},"memory":null}"#;

    /// A wait status as the kernel encodes an exit code.
    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    fn ended(status: ExitStatus, stdout: &str, stderr: &str) -> Ended {
        Ended {
            status,
            cause: Cause::Itself,
            duration: Duration::from_secs(2),
            stdout: stdout.into(),
            stderr: stderr.into(),
            calls: None,
        }
    }

    /// The outcome and error of a process that ended by itself.
    fn judged(status: ExitStatus, stdout: &str, stderr: &str) -> (Outcome, String) {
        let verdict = classify(&ended(status, stdout, stderr), None);
        (verdict.outcome, verdict.error.unwrap_or_default())
    }

    #[test]
    fn one_complete_record_and_exit_0_is_measured() {
        let verdict = classify(&ended(exited(0), RECORD, "a warning\n"), None);
        assert_eq!(verdict.outcome, Outcome::Measured);
        assert_eq!(verdict.error, None);
        assert_eq!(verdict.record.map(|record| record.program), Some("p".to_owned()));
    }

    #[test]
    fn anything_but_one_complete_record_is_failed() {
        let two = format!("{RECORD}\n{RECORD}\n");
        let newer = RECORD.replace(r#""1.0""#, r#""2.0""#);
        let incomplete = RECORD.replace("true", "false");
        for (stdout, reason) in [
            ("", "printed no record"),
            (&two, "printed 2 JSON values, and not one record"),
            (&newer, "its schema version is 2.0"),
            (&incomplete, "is not complete"),
            ("0 tasks, {", "reading a record: "),
        ] {
            let (outcome, error) = judged(exited(0), stdout, "");
            assert_eq!(outcome, Outcome::Failed, "{stdout}");
            assert!(error.contains(reason), "{error:?} does not say {reason:?}");
            assert!(!error.contains('\n'), "{error:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_failed() {
        let mut flood = ended(exited(0), "", "");
        flood.stdout = vec![0xff, 0xfe];
        assert_eq!(classify(&flood, None).outcome, Outcome::Failed);
    }

    #[test]
    fn a_failed_program_is_quoted() {
        let said = "warming up\nerror: too bad\n\n";
        let expected = (Outcome::Failed, "exited with 1: error: too bad".to_owned());
        assert_eq!(judged(exited(1), "", said), expected);
        let expected = (Outcome::Failed, "ended by SIGSEGV: it gave no reason".to_owned());
        assert_eq!(judged(ExitStatus::from_raw(Signal::SIGSEGV as i32), "", ""), expected);
    }

    #[test]
    fn exit_3_is_refused_in_the_words_of_the_record() {
        let record = RECORD.replace(r#""error":null"#, r#""error":"--tasks 9: no room""#);
        let expected = (Outcome::Refused, "exited with 3: --tasks 9: no room".to_owned());
        assert_eq!(judged(exited(3), &record, "noise"), expected);
    }

    #[test]
    fn a_cause_of_the_runners_goes_before_the_status() {
        for (cause, outcome, reason) in [
            (Cause::TimedOut, Outcome::TimedOut, "was killed after 2.0 s"),
            (Cause::Flooded, Outcome::Failed, "more than 16 MiB"),
            (Cause::Stopped, Outcome::Failed, "was interrupted"),
        ] {
            let killed = Ended { cause, ..ended(ExitStatus::from_raw(9), RECORD, "") };
            let verdict = classify(&killed, None);
            assert_eq!(verdict.outcome, outcome);
            assert_eq!(verdict.interrupted, cause == Cause::Stopped);
            assert!(verdict.error.unwrap().contains(reason));
        }
    }

    #[test]
    fn a_program_that_ended_well_despite_the_stop_has_measured() {
        let finished = Ended { cause: Cause::Stopped, ..ended(exited(0), RECORD, "") };
        let verdict = classify(&finished, None);
        assert_eq!((verdict.outcome, verdict.interrupted), (Outcome::Measured, false));
    }
}
