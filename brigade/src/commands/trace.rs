//! `brigade trace`: where the time of each hop of a case goes, from the kernel's records of
//! switches.

use std::fs;

use anyhow::{Context as _, bail};
use harness::cpus;
use harness::record::Record;
use harness::trace::{Recorder, Trace};

use crate::commands::flags::TraceFlags;
use crate::commands::output;
use crate::commands::session::{Session, Which, pair_with_machine};
use crate::exit::{Exit, Interrupted};
use crate::judge::trace::{Blame, quantile};
use crate::manifest::Case;
use crate::manifest::program::Form;
use crate::measure::executables::Executable;
use crate::measure::invoke::{Job, invoke};
use crate::show;
use crate::show::trace::Overhead;
use crate::store::invocation::Outcome;

/// So many processes run without tracing and with it, in turn.
const PAIRS: usize = 3;
/// How long each of them measures before it traces.
const SECONDS: &str = "0.05";

/// A guest traces all of its laps.
const GUEST_LAPS: [&str; 4] = ["--iters", "16", "--warmups", "3"];

/// Runs `brigade trace`.
///
/// # Errors
/// When the flags or the manifest are wrong, the program fails, records were lost, or
/// something cannot be written.
pub fn trace(flags: &TraceFlags) -> anyhow::Result<Exit> {
    let mut manifest = flags.programs.manifest()?;
    pair_with_machine(&mut manifest, Which::All)?;
    let case = manifest.cases_named(std::slice::from_ref(&flags.case))?[0];
    let mut session = Session::begin(&manifest, &flags.programs)?;
    let skipped = |reason: &str| {
        output::print(&format!("{}: skipped: {reason}\n", case.name))?;
        anyhow::Ok(Exit::Limit)
    };
    let binaries = session.binaries(&[case])?;
    if let Some(reason) = session.capabilities.missing_for(case) {
        return skipped(&reason);
    }
    let binary = &binaries[&case.program];
    let folder = tempfile::tempdir().context("making a folder for the trace")?;
    let file = folder.path().join("trace.json");
    let is_guest = binary.program.form == Form::Laps;
    let cpus = cpus::allowed().context("reading the CPUs that may be used")?;
    let mut tracing = vec!["--trace".to_owned(), file.display().to_string()];
    if is_guest {
        tracing.extend(GUEST_LAPS.map(str::to_owned));
    }
    let (mut plain, mut traces) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let record = match run(case, binary, &[], &mut session)? {
            Ran::Record(record, _) => record,
            Ran::Refused(reason) => return skipped(&reason),
        };
        plain.extend(record.principal().map(|principal| principal.ns_per_operation));
        let recorder = is_guest.then(|| Recorder::watch(&cpus)).transpose();
        let recorder = match recorder {
            Ok(recorder) => recorder,
            Err(error) => return skipped(&error.to_string()),
        };
        let stops = match run(case, binary, &tracing, &mut session)? {
            Ran::Record(_, stops) => stops,
            Ran::Refused(reason) => return skipped(&reason),
        };
        let text = fs::read_to_string(&file).context("reading the trace")?;
        let mut trace: Trace = serde_json::from_str(&text).context("reading the trace")?;
        if let Some(recorder) = recorder {
            recorder.complete(&mut trace)?;
        }
        trace.stops = stops;
        let blame = Blame::of(&trace).map_err(anyhow::Error::msg)?;
        traces.push((trace, blame));
    }
    let hop = |blame: &Blame| {
        blame.hops.iter().map(|hop| hop.ns() as f64).sum::<f64>() / blame.hops.len() as f64
    };
    let traced: Vec<f64> = traces.iter().map(|(_, blame)| hop(blame)).collect();
    let middle = |times: &[f64]| quantile(times.iter().map(|ns| *ns as u64), 0.5) as f64;
    let overhead = Overhead { plain_ns: middle(&plain), traced_ns: middle(&traced), pairs: PAIRS };
    traces.sort_by(|(_, one), (_, other)| hop(one).total_cmp(&hop(other)));
    let (trace, blame) = &traces[PAIRS / 2];
    if let Some(path) = &flags.svg {
        output::replace(path, &show::trace::file(&case.name, trace, blame))?;
    }
    if let Some(path) = &flags.events {
        let events = show::trace::chrome(&case.name, trace, blame);
        output::replace(path, &serde_json::to_string(&events)?)?;
    }
    let page = show::trace::blocks(&case.name, trace, blame, Some(overhead));
    output::print(&show::text::blocks(&page))?;
    Ok(Exit::Done)
}

/// What came of a process.
enum Ran {
    Record(Box<Record>, Vec<u64>),
    Refused(String),
}

fn run(
    case: &Case,
    binary: &Executable,
    flags: &[String],
    session: &mut Session,
) -> anyhow::Result<Ran> {
    let flags = [&["--max-time".to_owned(), SECONDS.to_owned()], flags].concat();
    let job =
        Job { case, round: 1, attempt: 1, under: &[], binary, flags: &flags, shared_cpu: None };
    let invocation = invoke(&job, &mut session.signals);
    if session.signals.stops() > 0 {
        return Err(Interrupted.into());
    }
    match (invocation.outcome, invocation.record, invocation.error) {
        (Outcome::Measured, Some(record), _) => {
            Ok(Ran::Record(Box::new(record), invocation.stops_ns))
        }
        (Outcome::Refused, _, error) => Ok(Ran::Refused(error.unwrap_or_default())),
        (_, _, error) => bail!("{}: {}", case.name, error.unwrap_or_default()),
    }
}
