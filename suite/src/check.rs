//! `brigade check`: every case for a few iterations, verified instead of
//! measured.

use anyhow::Context;
use harness::record::{Record, Switches};
use harness::terminal;

use crate::availability::Here;
use crate::build::{self, Binaries};
use crate::exit::Exit;
use crate::flags::CheckFlags;
use crate::invocation::{Invocation, Outcome};
use crate::invoke::{Job, invoke};
use crate::lock::Lock;
use crate::manifest::{Case, CheckSize, Manifest, Placement};
use crate::output;
use crate::signals::Signals;

/// How far the kernel's counts of switches per operation may lie from what the
/// program claims, as a share of the claim, or of 1 where the claim is less: a
/// run this short is not all steady state.
pub const SWITCHES_TOLERANCE: f64 = 0.1;

/// What came of the check of one case.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Obeys `brigade check`.
///
/// # Errors
/// When the flags or the manifest are wrong, the programs cannot be built, or
/// standard output cannot be written. A failing program is no error but a
/// finding.
pub fn check(flags: &CheckFlags) -> anyhow::Result<Exit> {
    let mut signals = Signals::register().context("setting up signal handlers")?;
    let manifest = Manifest::load(flags.programs.manifest.as_deref())?;
    let cases = if flags.cases.is_empty() {
        manifest.cases.iter().collect()
    } else {
        manifest.cases_named(&flags.cases)?
    };
    let _lock = Lock::take()?;
    let build = !flags.programs.no_build;
    let here = Here::look(&manifest)?;
    let Some(binaries) = build::binaries(&manifest, build, &here, &mut signals)? else {
        return Ok(Exit::Interrupted);
    };

    let mut tally = Tally::default();
    for case in cases {
        let finding = match here.obstacle(case, &manifest.programs[&case.program]) {
            Some(reason) => Finding::Skipped(reason),
            None => examine(case, &manifest, &binaries, &mut signals),
        };
        if signals.stops() > 0 {
            break;
        }
        tally.add(&finding);
        output::print(&line(&case.name, &finding))?;
    }
    output::print(&tally.line())?;
    Ok(if signals.stops() > 0 { Exit::Interrupted } else { tally.exit() })
}

/// Runs a case at the size of its program's check and examines what comes.
fn examine(
    case: &Case,
    manifest: &Manifest,
    binaries: &Binaries,
    signals: &mut Signals,
) -> Finding {
    let size = manifest.check_size(case);
    let flags = size_flags(size);
    let job = Job {
        case,
        round: 1,
        attempt: 1,
        under: &[],
        binary: &binaries[&case.program],
        flags: &flags,
    };
    judge(case, size, &invoke(&job, signals))
}

/// The flags that make a program run at this size.
pub fn size_flags(size: CheckSize) -> Vec<String> {
    let always = [("--iters", size.iters), ("--warmups", size.warmups)];
    let flags = size.tasks.map(|tasks| ("--tasks", tasks)).into_iter().chain(always);
    flags.flat_map(|(flag, value)| [flag.to_owned(), value.to_string()]).collect()
}

fn line(case: &str, finding: &Finding) -> String {
    let said = match finding {
        Finding::Passed => format!("{case}: ok"),
        Finding::Failed(reason) => format!("{case}: FAILED {reason}"),
        Finding::Skipped(reason) => format!("{case}: skipped {reason}"),
    };
    terminal::line(&said).into_owned() + "\n"
}

/// How many cases came out how.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    fn add(&mut self, finding: &Finding) {
        match finding {
            Finding::Passed => self.passed += 1,
            Finding::Failed(_) => self.failed += 1,
            Finding::Skipped(_) => self.skipped += 1,
        }
    }

    fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped\n", self.passed, self.failed, self.skipped)
    }

    fn exit(&self) -> Exit {
        if self.failed == 0 { Exit::Done } else { Exit::Failed }
    }
}

/// Judges an invocation at `size`.
fn judge(case: &Case, size: CheckSize, invocation: &Invocation) -> Finding {
    let reason = || invocation.error.clone().unwrap_or_default();
    match (invocation.outcome, &invocation.record) {
        (Outcome::Refused, _) => Finding::Skipped(reason()),
        (Outcome::Measured, Some(record)) => match verify(case, size, record) {
            Ok(()) => Finding::Passed,
            Err(reason) => Finding::Failed(reason),
        },
        _ => Finding::Failed(reason()),
    }
}

/// Verifies that a record, consistent in itself, tells of what was asked for.
fn verify(case: &Case, size: CheckSize, record: &Record) -> Result<(), String> {
    for (what, expected, found) in [
        ("tasks", size.tasks.unwrap_or(record.tasks), record.tasks),
        ("iterations", size.iters, record.iterations),
        ("warm-ups", size.warmups, record.warmups),
    ] {
        same(what, expected, found)?;
    }
    let principal = record.principal().ok_or("has no measurement")?;
    same("samples", size.iters, principal.count)?;
    same("operations in a sample", size.operations, principal.operations)?;
    let switches = record.switches.as_ref();
    switches
        .map_or(Ok(()), |switches| verify_switches(case.placement, case.may_block_more, switches))
}

fn same(what: &str, expected: u64, found: u64) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("reports {found} {what}, not {expected}"))
}

/// Verifies the claim about switches where the kernel's counts can decide it:
/// on one CPU every hand-over is a switch, and a claim of none holds
/// everywhere; elsewhere a wake-up may find its thread still awake.
///
/// Switches of both kinds together must not be fewer than claimed, and threads
/// must not have blocked more often, unless the case says so. How often the
/// scheduler preempts them on top of that is its own affair: on some kernels a
/// woken thread preempts the one that woke it at every third hop.
///
/// # Errors
/// What the kernel counted instead.
pub fn verify_switches(
    placement: Placement,
    may_block_more: bool,
    switches: &Switches,
) -> Result<(), String> {
    let Some(expected) = decided_claim(placement, switches) else { return Ok(()) };
    let tolerance = SWITCHES_TOLERANCE * expected.max(1.0);
    let blocked = switches.voluntary_per_operation;
    let all = blocked + switches.involuntary_per_operation;
    if all < expected - tolerance {
        return Err(format!("the kernel counted {all:.3} switches per operation, not {expected}"));
    }
    if blocked > expected + tolerance && !may_block_more {
        return Err(format!(
            "its threads blocked {blocked:.3} times per operation, not {expected}"
        ));
    }
    Ok(())
}

/// The claim of switches per operation, where the kernel's counts can decide it.
#[must_use]
pub fn decided_claim(placement: Placement, switches: &Switches) -> Option<f64> {
    let can_be = |claim: &f64| placement == Placement::SameCpu || *claim == 0.0;
    switches.expected_per_operation.filter(can_be)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(voluntary: f64, involuntary: f64, expected: Option<f64>) -> Switches {
        Switches {
            voluntary_per_operation: voluntary,
            involuntary_per_operation: involuntary,
            expected_per_operation: expected,
            migrations: None,
            cross_cpu_share: None,
        }
    }

    #[test]
    fn threads_must_switch_as_often_as_claimed() {
        let verify = |counted: &Switches| verify_switches(Placement::SameCpu, false, counted);
        assert_eq!(verify(&switches(1.0, 0.0, Some(1.0))), Ok(()));
        assert_eq!(verify(&switches(0.5, 0.45, Some(1.0))), Ok(()));
        assert!(verify(&switches(0.5, 0.35, Some(1.0))).is_err());
        assert_eq!(verify(&switches(1.85, 0.0, Some(2.0))), Ok(()));
    }

    #[test]
    fn threads_must_not_block_more_often_than_claimed() {
        let verify = |counted: &Switches| verify_switches(Placement::SameCpu, false, counted);
        assert_eq!(verify(&switches(1.05, 0.0, Some(1.0))), Ok(()));
        assert!(verify(&switches(1.15, 0.0, Some(1.0))).is_err());
        assert_eq!(verify(&switches(1.0, 0.35, Some(1.0))), Ok(()), "preempted on top of that");
    }

    #[test]
    fn threads_that_contend_for_a_lock_may_block_more_often_but_not_less() {
        let verify = |counted: &Switches| verify_switches(Placement::SameCpu, true, counted);
        assert_eq!(verify(&switches(1.7, 0.0, Some(1.0))), Ok(()));
        assert!(verify(&switches(0.5, 0.35, Some(1.0))).is_err());
    }

    #[test]
    fn a_claim_of_none_is_verified_on_any_placement() {
        assert_eq!(
            verify_switches(Placement::Free, false, &switches(0.05, 0.0, Some(0.0))),
            Ok(())
        );
        assert!(verify_switches(Placement::Free, false, &switches(0.2, 0.0, Some(0.0))).is_err());
    }

    #[test]
    fn what_nothing_can_decide_is_not_verified() {
        assert_eq!(
            verify_switches(Placement::Spread, false, &switches(0.2, 0.0, Some(1.0))),
            Ok(())
        );
        assert_eq!(verify_switches(Placement::SameCpu, false, &switches(0.2, 0.0, None)), Ok(()));
    }
}
