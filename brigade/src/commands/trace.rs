//! `brigade trace`: where the time of each hop of a case goes, from the kernel's records of
//! switches.

use std::fs;

use anyhow::{Context as _, bail, ensure};
use harness::cpus;
use harness::failure::Unavailable;
use harness::record::Record;
use harness::trace::{Recorder, Trace};

use crate::commands::flags::TraceFlags;
use crate::commands::output;
use crate::commands::session::Session;
use crate::exit::{Exit, Interrupted};
use crate::judge::statistics::median;
use crate::judge::trace::Blame;
use crate::manifest::tables::Form;
use crate::manifest::{Case, Manifest};
use crate::measure::executables::Executable;
use crate::measure::invoke::{Job, invoke};
use crate::measure::process::Signals;
use crate::show;
use crate::show::trace::View;
use crate::store::results::{Invocation, Outcome};

/// The number of processes with tracing, and of those without.
const PAIRS: usize = 3;
/// How long each process measures before it traces.
const SECONDS: [&str; 2] = ["--max-time", "0.05"];
/// A guest traces all of its laps.
const GUEST_LAPS: [&str; 4] = ["--iters", "16", "--warmups", "3"];

/// Runs `brigade trace`.
///
/// # Errors
/// When the flags or the manifest are wrong, the kernel refuses, the program fails, records were
/// lost, or something cannot be written.
pub fn trace(flags: &TraceFlags, mut manifest: Manifest) -> anyhow::Result<Exit> {
    manifest.admit(std::slice::from_ref(&flags.case));
    let case = manifest.chosen(std::slice::from_ref(&flags.case))?[0];
    let mut session = Session::begin(&manifest)?;
    let (binaries, capabilities) = session.build(&[case])?;
    if let Some(reason) = capabilities.missing_for(case) {
        return Err(Unavailable(reason).into());
    }
    let (mut plain, mut traces) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (binary, signals) = (&binaries[&case.program], &mut session.signals);
        let bare = run(case, binary, &SECONDS.map(str::to_owned), signals)?;
        let trace = traced(case, binary, signals)?;
        let blame = Blame::of(&trace)?;
        plain.extend(bare.record.as_ref().and_then(Record::principal).cloned());
        traces.push((trace, blame));
    }
    traces.sort_by(|(_, one), (_, other)| one.mean_ns().total_cmp(&other.mean_ns()));
    let (trace, blame) = &traces[PAIRS / 2];
    let operation = plain.first().map_or("hop", |laps| &laps.operation);
    let hop = if operation == "wake-up" { operation } else { "hop" };
    let plain: Vec<f64> = plain.iter().map(|laps| laps.ns_per_operation).collect();
    // A lock is taken more often than it changes hands.
    let plain_ns = median(&plain).filter(|_| operation != "acquisition");
    let view = View::new([&case.name, hop], trace, blame);
    if let Some(path) = &flags.svg {
        output::write(path, &view.picture())?;
    }
    if let Some(path) = &flags.events {
        output::write(path, &serde_json::to_string(&view.events())?)?;
    }
    output::print(&show::page::text(&view.blocks(plain_ns)))?;
    Ok(Exit::Done)
}

/// The trace of a process of `case`.
///
/// # Errors
/// [`Unavailable`] if tracing is denied; if the process fails or records are lost.
fn traced(case: &Case, binary: &Executable, signals: &mut Signals) -> anyhow::Result<Trace> {
    let folder = tempfile::tempdir().context("making a folder for the trace")?;
    let file = folder.path().join("trace.json");
    let path = file.display().to_string();
    let cpus = cpus::allowed().context("reading the CPUs that may be used")?;
    let is_guest = binary.program.form == Form::Laps;
    let recorder = is_guest.then(|| Recorder::watch(&cpus)).transpose()?;
    let flags = SECONDS.into_iter().chain(["--trace", &path]);
    let flags = flags.chain(GUEST_LAPS.into_iter().filter(|_| is_guest));
    let flags: Vec<String> = flags.map(str::to_owned).collect();
    let invocation = run(case, binary, &flags, signals)?;
    ensure!(
        invocation.stopped_ns.is_none_or(|ns| ns == 0),
        "a signal stopped {} while it traced: trace it again",
        case.name
    );
    let text = fs::read_to_string(&file).context("reading the trace")?;
    let mut trace: Trace = serde_json::from_str(&text).context("reading the trace")?;
    if let Some(recorder) = recorder {
        recorder.complete(&mut trace)?;
    }
    Ok(trace)
}

fn run(
    case: &Case,
    binary: &Executable,
    flags: &[String],
    signals: &mut Signals,
) -> anyhow::Result<Invocation> {
    let mut invocation = invoke(&Job::once(case, binary, flags), signals);
    if signals.stops() > 0 {
        return Err(Interrupted.into());
    }
    let error = invocation.error.take().unwrap_or_default();
    match invocation.outcome {
        Outcome::Measured => Ok(invocation),
        Outcome::Refused => Err(Unavailable(error).into()),
        _ => bail!("{}: {error}", case.name),
    }
}
