//! `brigade check`: runs every case for a few iterations and verifies its record.

use harness::counters::counts_switches;
use harness::record::{Record, Switches};
use harness::terminal;

use crate::commands::output;
use crate::commands::session::{Built, Session, check_flags};
use crate::exit::Exit;
use crate::manifest::tables::OutputForm;
use crate::manifest::{Case, Manifest, Placement};
use crate::measure::executables::Executable;
use crate::measure::invoke::{Job, flags_without, invoke, number};
use crate::measure::process::Signals;
use crate::store::results::{Invocation, Outcome, Skipped};

/// Runs `brigade check`.
///
/// # Errors
/// If the flags or the manifest are wrong, the programs cannot be built, or
/// standard output cannot be written. A failing program is a finding, not an
/// error.
pub fn check(names: &[String], manifest: &Manifest) -> anyhow::Result<Exit> {
    let cases: Vec<&Case> = match names {
        [] => manifest.cases.iter().collect(),
        names => manifest.chosen(names)?,
    };
    check_flags(manifest, &cases, &manifest.typed(names), &[])?;
    let mut session = Session::begin(manifest)?;
    let Built { cases, binaries, skipped: lacking } = session.build(cases)?;

    let print = |case: &str, text: String| {
        output::print(&(terminal::line(&format!("{case}: {text}")) + "\n"))
    };
    for Skipped { case, reason } in &lacking {
        print(case, format!("skipped {reason}"))?;
    }
    let mut passed = 0;
    let mut failed = 0;
    let mut skipped = lacking.len();
    for case in cases {
        let Finding { outcome, reason } =
            examine(case, &binaries[&case.program], &mut session.signals);
        if session.signals.stops() > 0 {
            break;
        }
        match outcome {
            Outcome::Measured => {
                passed += 1;
                print(&case.name, "ok".to_owned())?;
            }
            Outcome::Refused => {
                skipped += 1;
                print(&case.name, format!("skipped {reason}"))?;
            }
            Outcome::Failed | Outcome::TimedOut => {
                failed += 1;
                print(&case.name, format!("FAILED {reason}"))?;
            }
        }
    }
    if passed > 0 && !counts_switches() {
        output::print("this kernel does not count switches: no claim about them was checked\n")?;
    }
    output::print(&format!("{passed} passed, {failed} failed, {skipped} skipped\n"))?;
    Ok(if session.signals.stops() > 0 {
        Exit::Interrupted
    } else if failed > 0 {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// What the check of a case found.
struct Finding {
    outcome: Outcome,
    /// Why it did not pass; empty if it did.
    reason: String,
}

/// Runs a case at its check size and verifies the record.
fn examine(case: &Case, binary: &Executable, signals: &mut Signals) -> Finding {
    // The case's own time limit would end the check early on a slow machine.
    let replaced = [&case.check[..], &["--max-time".to_owned()]].concat();
    let mut brief = case.clone();
    brief.flags = flags_without(&case.flags, &replaced);
    let case = &brief;
    let Invocation { outcome, record, error, .. } =
        invoke(&Job::once(case, binary, &case.check), signals);
    let is_guest = binary.program.form == OutputForm::Laps;
    if outcome == Outcome::Measured
        && let Some(record) = record
        && let Err(reason) = verify(case, is_guest, &record)
    {
        return Finding { outcome: Outcome::Failed, reason };
    }
    Finding { outcome, reason: error.unwrap_or_default() }
}

/// Verifies that a consistent record matches the requested size.
fn verify(case: &Case, is_guest: bool, record: &Record) -> Result<(), String> {
    let principal = record.principal().ok_or("has no measurement")?;
    let rings = number(&case.flags, "--rings").unwrap_or(1);
    for (flag, times, found) in [
        ("--tasks", rings, record.tasks),
        ("--iters", 1, record.iterations),
        ("--warmups", 1, record.warmups),
    ] {
        let expected = number(&case.check, flag).map_or(found, |number| number * times);
        if expected != found {
            return Err(format!("reports {found} for {flag} {expected}"));
        }
    }
    // A lap of N tasks has N operations, or one more for each ring, or a batch of them; a sweep
    // creates some at a time. Messages of a channel are counted whatever the number of tasks.
    let operations = principal.operations;
    let tasks = record.tasks;
    let is_multiple = [tasks, tasks + rings].into_iter().any(|lap| operations.is_multiple_of(lap));
    if !is_multiple && !tasks.is_multiple_of(operations) && principal.operation != "message" {
        return Err(format!("reports {operations} operations in a sample of {tasks} tasks"));
    }
    match &record.switches {
        // Threads of a guest's runtime switch, too.
        Some(switches) if is_guest && switches.expected_per_operation == Some(0.0) => Ok(()),
        Some(switches) => verify_switches(case.placement, switches),
        None => Ok(()),
    }
}

/// How far the kernel's count of switches per operation may differ from the program's claim, as a
/// share of the claim, or of 1 if that is larger: a short run includes start and end.
const SWITCHES_TOLERANCE: f64 = 0.1;

/// Verifies the claim about switches if the kernel's counts can decide it: on one CPU every
/// hand-over is a switch, so there must be at least as many as claimed; more may come from
/// preemption, or from locks that a woken task still finds held. A claim of none can be checked
/// everywhere.
fn verify_switches(placement: Placement, switches: &Switches) -> Result<(), String> {
    let can_be = |claim: &f64| placement == Placement::SameCpu || *claim == 0.0;
    let Some(expected) = switches.expected_per_operation.filter(can_be) else { return Ok(()) };
    let blocked = switches.voluntary_per_operation;
    let all = blocked + switches.involuntary_per_operation;
    let tolerance = SWITCHES_TOLERANCE * expected.max(1.0);
    if all < expected - tolerance || expected == 0.0 && blocked > tolerance {
        return Err(format!("the kernel counted {all:.3} switches per operation, not {expected}"));
    }
    Ok(())
}
