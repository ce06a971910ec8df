//! `brigade trace`: where the time of each hop of a case goes, from the kernel's records of
//! switches.

use std::{fs, slice};

use anyhow::{Context as _, bail, ensure};
use harness::failure::Refusal;
use harness::record::Record;
use harness::trace::Trace;

use crate::commands::exit_after;
use crate::commands::flags::TraceFlags;
use crate::commands::output;
use crate::commands::session::{Built, Session, check_flags};
use crate::exit::{Exit, Interrupted, UsageError};
use crate::judge::sample::Sample;
use crate::judge::statistics::median;
use crate::judge::trace::Blame;
use crate::manifest::tables::OutputForm;
use crate::manifest::{Case, Manifest};
use crate::measure::executables::Executable;
use crate::measure::invoke::{Job, invoke};
use crate::measure::process::Signals;
use crate::show;
use crate::store::results::{Invocation, Skipped};

/// The number of processes with tracing, and of those without.
const PAIRS: usize = 3;
/// How many times a trace is taken until it has every switch.
const TRIES: usize = 5;
/// How long each process measures before it traces.
const SECONDS: [&str; 2] = ["--max-time", "0.05"];

/// Runs `brigade trace`.
///
/// # Errors
/// When the flags or the manifest are wrong, the kernel refuses, the program fails, no trace has every
/// switch, or something cannot be written.
pub fn trace(flags: &TraceFlags, mut manifest: Manifest) -> anyhow::Result<Exit> {
    manifest.admit(slice::from_ref(&flags.case));
    let case = manifest.chosen(slice::from_ref(&flags.case))?[0];
    if manifest.program_of(case).form == OutputForm::Laps {
        bail!(UsageError(format!("{}: programs in other languages do not trace", case.name)));
    }
    let tracing = ["--trace", "FILE"].map(str::to_owned);
    check_flags(&manifest, &[case], slice::from_ref(&case.name), &tracing)?;
    for path in flags.svg.iter().chain(&flags.events) {
        output::check_file(path)?;
    }
    let mut session = Session::begin(&manifest)?;
    let Built { binaries, skipped, .. } = session.build(vec![case])?;
    if let Some(Skipped { reason, .. }) = skipped.into_iter().next() {
        return Err(Refusal(reason).into());
    }
    let seconds = SECONDS.map(str::to_owned);
    let mut plain = Vec::new();
    let mut traces = Vec::new();
    for _ in 0..PAIRS {
        let binary = &binaries[&case.program];
        let signals = &mut session.signals;
        traces.push(traced(case, binary, signals)?);
        let bare = run(&Job::once(case, binary, &seconds), signals)?;
        // A lock is taken more often than it changes hands.
        if let Some(laps) = bare.record.as_ref().and_then(Record::principal)
            && laps.operation != "acquisition"
        {
            plain.push(laps.ns_per_operation);
        }
    }
    traces.sort_by(|one, other| one.mean_ns().total_cmp(&other.mean_ns()));
    let case = &case.name;
    let blame = &traces[PAIRS / 2];
    if let Some(path) = &flags.svg {
        output::write(path, &show::trace::picture(case, blame))?;
    }
    if let Some(path) = &flags.events {
        output::write(path, &serde_json::to_string(&show::trace::events(case, blame))?)?;
    }
    output::print(&show::page::text(&show::trace::blocks(case, blame, median(&plain))))?;
    Ok(Exit::Done)
}

/// The hops of a process of `case`. A trace that lacks something is taken again, from another process.
///
/// # Errors
/// [`Refusal`] if tracing is denied; if a process fails, or each trace lacks something.
fn traced(case: &Case, binary: &Executable, signals: &mut Signals) -> anyhow::Result<Blame> {
    let mut taken = Blame::new(recorded(case, binary, signals)?);
    for _ in 1..TRIES {
        if taken.is_err() {
            taken = Blame::new(recorded(case, binary, signals)?);
        }
    }
    taken.with_context(|| format!("{}: none of {TRIES} traces is whole; the last", case.name))
}

/// What one process of `case` traced.
fn recorded(case: &Case, binary: &Executable, signals: &mut Signals) -> anyhow::Result<Trace> {
    let folder = tempfile::tempdir().context("making a folder for the trace")?;
    let file = folder.path().join("trace.json");
    let path = file.display().to_string();
    let flags = [SECONDS[0], SECONDS[1], "--trace", &path].map(str::to_owned);
    let invocation = run(&Job::once(case, binary, &flags), signals)?;
    ensure!(
        invocation.stopped_ns.is_none_or(|ns| ns == 0),
        "a signal stopped {} while it traced: trace it again",
        case.name
    );
    let text = fs::read_to_string(&file).context("reading the trace")?;
    serde_json::from_str(&text).context("reading the trace")
}

fn run(job: &Job, signals: &mut Signals) -> anyhow::Result<Invocation> {
    let mut invocation = invoke(job, signals);
    if signals.stops() > 0 {
        return Err(Interrupted.into());
    }
    let error = invocation.error.take().unwrap_or_default();
    match exit_after([&Sample::new(&invocation, None, 0)]) {
        Exit::Done => Ok(invocation),
        Exit::Limit => Err(Refusal(error).into()),
        Exit::Usage => Err(UsageError(error).into()),
        _ => bail!("{}: {error}", job.case.name),
    }
}
