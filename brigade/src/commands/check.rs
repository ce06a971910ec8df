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
        Some(switches) => verify_switches(case.placement, is_guest, switches),
        None => Ok(()),
    }
}

/// How far the kernel's count of switches per operation may differ from the program's claim, as a
/// share of the claim, or of 1 if that is larger: a short run includes start and end.
const SWITCHES_TOLERANCE: f64 = 0.1;

/// How many switches per operation a guest that claims none may make: threads of its runtime switch,
/// too, and a check is short. Tasks that switch make at least one.
const OF_A_RUNTIME: f64 = 0.5;

/// How often threads may block per claimed switch: a woken one may find a lock still held, or what it
/// waits for not there yet, and wait again.
const WAITS_PER_SWITCH: f64 = 2.0;

/// Verifies the claim about switches if the kernel's counts can decide it: on one CPU every
/// hand-over is a switch, so there must be at least as many as claimed. Preemption adds any number of
/// switches, so only those of threads that block are bounded from above. A claim of none can be
/// checked everywhere.
fn verify_switches(
    placement: Placement,
    is_guest: bool,
    switches: &Switches,
) -> Result<(), String> {
    let can_be = |claim: &f64| placement == Placement::SameCpu || *claim == 0.0;
    let Some(expected) = switches.expected_per_operation.filter(can_be) else { return Ok(()) };
    let blocked = switches.voluntary_per_operation;
    let all = blocked + switches.involuntary_per_operation;
    let tolerance = SWITCHES_TOLERANCE * expected.max(1.0);
    if all < expected - tolerance {
        return Err(format!("the kernel counted {all:.3} switches per operation, not {expected}"));
    }
    let most = if expected == 0.0 && is_guest {
        OF_A_RUNTIME
    } else {
        WAITS_PER_SWITCH * expected + tolerance
    };
    if blocked > most {
        return Err(format!(
            "the kernel counted {blocked:.3} voluntary switches per operation, not {expected}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Placement::{Free, SameCpu};

    #[test]
    fn a_claim_has_two_bounds_if_the_kernel_can_tell() {
        for (placement, is_guest, voluntary, involuntary, expected, is_ok) in [
            (SameCpu, false, 1.0, 0.0, 1.0, true),
            // Preempted threads did not have to block.
            (SameCpu, false, 0.5, 0.45, 1.0, true),
            (SameCpu, false, 0.5, 0.35, 1.0, false),
            (SameCpu, false, 1.0, 9.0, 1.0, true),
            // A woken thread found a lock held.
            (SameCpu, false, 1.9, 0.0, 1.0, true),
            (SameCpu, false, 2.2, 0.0, 1.0, false),
            (SameCpu, false, 1.0, 0.0, 0.001, false),
            (Free, false, 0.1, 0.0, 1.0, true),
            (Free, false, 0.0, 5.0, 0.0, true),
            (Free, false, 0.2, 0.0, 0.0, false),
            (Free, true, 0.4, 5.0, 0.0, true),
            (Free, true, 0.6, 0.0, 0.0, false),
            (SameCpu, true, 2.1, 1.1, 0.0, false),
        ] {
            let switches = Switches {
                voluntary_per_operation: voluntary,
                involuntary_per_operation: involuntary,
                expected_per_operation: Some(expected),
                cross_cpu_share: None,
            };
            let verified = verify_switches(placement, is_guest, &switches);
            assert_eq!(verified.is_ok(), is_ok, "{placement:?} {switches:?}: {verified:?}");
        }
        let none = Switches {
            voluntary_per_operation: 9.0,
            involuntary_per_operation: 0.0,
            expected_per_operation: None,
            cross_cpu_share: None,
        };
        assert_eq!(verify_switches(SameCpu, true, &none), Ok(()));
    }
}
