//! `brigade check`: runs every case for a few iterations and verifies its
//! record.

use harness::record::{Record, Switches};
use harness::terminal;

use crate::commands::flags::CheckFlags;
use crate::commands::output;
use crate::commands::session::{Session, Which, pair_with_machine};
use crate::exit::Exit;
use crate::manifest::program::CheckSize;
use crate::manifest::{Case, Placement};
use crate::measure::executables::Executables;
use crate::measure::invoke::{Job, invoke, without};
use crate::store::invocation::{Invocation, Outcome};

/// The result of checking one case.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Runs `brigade check`.
///
/// # Errors
/// If the flags or the manifest are wrong, the programs cannot be built, or
/// standard output cannot be written. A failing program is a finding, not an
/// error.
pub fn check(flags: &CheckFlags) -> anyhow::Result<Exit> {
    let mut manifest = flags.programs.manifest()?;
    pair_with_machine(&mut manifest, Which::One)?;
    let cases: Vec<&Case> = match (flags.groups.as_slice(), flags.cases.as_slice()) {
        ([], []) => manifest.cases.iter().collect(),
        ([], names) => manifest.cases_named(names)?,
        (groups, _) => manifest.cases_of_groups(groups)?,
    };
    let mut session = Session::begin(&manifest, &flags.programs)?;
    let binaries = session.binaries(&cases)?;

    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for case in cases {
        let finding = match session.capabilities.missing_for(case) {
            Some(reason) => Finding::Skipped(reason),
            None => examine(case, &mut session, &binaries),
        };
        if session.signals.stops() > 0 {
            break;
        }
        let (count, text) = match finding {
            Finding::Passed => (&mut passed, "ok".to_owned()),
            Finding::Failed(reason) => (&mut failed, format!("FAILED {reason}")),
            Finding::Skipped(reason) => (&mut skipped, format!("skipped {reason}")),
        };
        *count += 1;
        output::print(&(terminal::line(&format!("{}: {text}", case.name)) + "\n"))?;
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

/// Runs a case at its program's check size and verifies the record.
fn examine(case: &Case, session: &mut Session, binaries: &Executables) -> Finding {
    let size = session.manifest.check_size(case);
    let flags = size_flags(size);
    let mut case = case.clone();
    // A group's time limit would end the check early on a slow machine.
    let replaced = [&flags[..], &["--max-time".to_owned(), "0".to_owned()]].concat();
    case.flags = without(&case.flags, &replaced);
    let case = &case;
    let job = Job {
        case,
        round: 1,
        attempt: 1,
        under: &[],
        binary: &binaries[&case.program],
        flags: &flags,
        shared_cpu: None,
    };
    judge(case, size, &invoke(&job, &mut session.signals))
}

/// The flags that make a program run at this size.
pub fn size_flags(size: CheckSize) -> Vec<String> {
    let always = [("--iters", size.iters), ("--warmups", size.warmups)];
    let flags = size.tasks.map(|tasks| ("--tasks", tasks)).into_iter().chain(always);
    flags.flat_map(|(flag, value)| [flag.to_owned(), value.to_string()]).collect()
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

/// Verifies that a consistent record matches the requested size.
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
    let operations = size.operations.unwrap_or(principal.operations);
    same("operations in a sample", operations, principal.operations)?;
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

/// How far the kernel's count of switches per operation may differ from the
/// program's claim, as a share of the claim, or of 1 if that is larger: a short
/// run includes start and end.
const SWITCHES_TOLERANCE: f64 = 0.1;

/// Verifies the claim about switches if the kernel's counts can decide it: on
/// one CPU every hand-over is a switch, and a claim of none can be checked
/// everywhere; otherwise a wake-up may find its thread still awake.
///
/// There must be at least as many switches of both kinds as claimed, and
/// threads must not block more often, unless the case allows it. Additional
/// preemption is the scheduler's choice: on some kernels a woken thread
/// preempts its waker at every third hop.
fn verify_switches(
    placement: Placement,
    may_block_more: bool,
    switches: &Switches,
) -> Result<(), String> {
    let can_be = |claim: &f64| placement == Placement::SameCpu || *claim == 0.0;
    let Some(expected) = switches.expected_per_operation.filter(can_be) else { return Ok(()) };
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

#[cfg(test)]
mod tests {
    use Placement::{Free, SameCpu, Spread};

    use super::*;

    #[test]
    fn threads_must_switch_and_block_as_often_as_claimed_if_the_kernel_can_tell() {
        for (placement, may_block_more, voluntary, involuntary, expected, is_ok) in [
            (SameCpu, false, 1.0, 0.0, Some(1.0), true),
            (SameCpu, false, 0.5, 0.45, Some(1.0), true),
            (SameCpu, false, 0.5, 0.35, Some(1.0), false),
            (SameCpu, false, 1.85, 0.0, Some(2.0), true),
            (SameCpu, false, 1.05, 0.0, Some(1.0), true),
            (SameCpu, false, 1.15, 0.0, Some(1.0), false),
            // Preempted in addition to blocking.
            (SameCpu, false, 1.0, 0.35, Some(1.0), true),
            (SameCpu, true, 1.7, 0.0, Some(1.0), true),
            (SameCpu, true, 0.5, 0.35, Some(1.0), false),
            (SameCpu, false, 0.2, 0.0, None, true),
            (Free, false, 0.05, 0.0, Some(0.0), true),
            (Free, false, 0.2, 0.0, Some(0.0), false),
            (Spread, false, 0.2, 0.0, Some(1.0), true),
        ] {
            let counted = Switches {
                voluntary_per_operation: voluntary,
                involuntary_per_operation: involuntary,
                expected_per_operation: expected,
                migrations: None,
                cross_cpu_share: None,
            };
            let result = verify_switches(placement, may_block_more, &counted);
            assert_eq!(result.is_ok(), is_ok, "{placement:?} {counted:?}: {result:?}");
        }
    }
}
