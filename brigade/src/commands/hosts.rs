//! `brigade report --hosts RUN…`: many hosts, which of them differ and what those
//! share.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::ensure;

use crate::commands::flags::{Format, ReportFlags};
use crate::commands::output;
use crate::exit::{Exit, UsageError};
use crate::judge::hosts::model::{HostsReport, LeftOut};
use crate::judge::hosts::reduced::ReducedRun;
use crate::judge::hosts::report;
use crate::judge::report::MARGIN;
use crate::show;
use crate::store::saved_run::SavedRun;

/// How many folders are read at the same time: each is in memory as a whole meanwhile.
const MOST_READERS: usize = 4;

/// Runs `brigade report --hosts`.
///
/// # Errors
/// When no folder can be read, the format is not one for hosts, or the report cannot be
/// written.
pub fn show(flags: &ReportFlags) -> anyhow::Result<Exit> {
    let format = flags.format.unwrap_or(Format::Text);
    if !matches!(format, Format::Text | Format::Html | Format::Csv | Format::Json) {
        let advice = "--hosts has the formats text, html, csv and json";
        return Err(UsageError(advice.to_owned()).into());
    }
    let Runs { runs, left_out } = read(&flags.folders)?;
    let margin = flags.margin.map_or(MARGIN, |percent| percent / 100.0);
    let unreadable = left_out.len();
    let report = report(runs, margin, left_out);
    complain_of(&report.left_out[unreadable..]);
    let text = rendered(&report, format)?;
    match &flags.output {
        Some(path) => output::write(path, &text)?,
        None => output::print(&text)?,
    }
    Ok(Exit::Done)
}

fn rendered(report: &HostsReport, format: Format) -> anyhow::Result<String> {
    Ok(match format {
        Format::Html => show::html::hosts(report)?,
        Format::Csv => show::hosts::csv::csv(report)?,
        Format::Json => serde_json::to_string(report)? + "\n",
        _ => show::hosts::text(report),
    })
}

/// What was read of many folders.
#[derive(Debug)]
pub struct Runs {
    /// The runs, in the order of their folders.
    pub runs: Vec<ReducedRun>,
    /// What could not be read.
    pub left_out: Vec<LeftOut>,
}

/// Reads and reduces these runs. Each that cannot be read costs itself and one line on
/// standard error, and so does each of which a part is left out.
///
/// # Errors
/// When none can be read.
pub fn read(folders: &[PathBuf]) -> anyhow::Result<Runs> {
    let mut found = Runs { runs: Vec::new(), left_out: Vec::new() };
    for (folder, (run, warning)) in folders.iter().zip(reduced(folders)) {
        if let Some(warning) = warning {
            let left_out = if run.is_none() { "left out: " } else { "" };
            output::complain(&format!("{}: {left_out}{warning}", folder.display()));
            if run.is_none() {
                found.left_out.push(LeftOut { folders: vec![name_of(folder)], reason: warning });
            }
        }
        found.runs.extend(run);
    }
    ensure!(
        !found.runs.is_empty(),
        "none of {} folders can be read: name folders of runs, such as results/*",
        folders.len()
    );
    Ok(found)
}

/// Says on standard error what was left out.
pub fn complain_of(parts: &[LeftOut]) {
    for LeftOut { folders, reason } in parts {
        let what = show::hosts::named(folders);
        output::complain(&format!("{what}: left out: {reason}"));
    }
}

/// A run, if it can be read, and what is wrong with its folder.
type Reduced = (Option<ReducedRun>, Option<String>);

/// Each folder reduced, some at the same time.
fn reduced(folders: &[PathBuf]) -> Vec<Reduced> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Reduced>> = folders.iter().map(|_| Mutex::default()).collect();
    let read = || {
        while let Some((folder, result)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            folders.get(index).zip(results.get(index))
        } {
            *result.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = reduce(folder);
        }
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        // A thread that cannot be had is not needed: this one reads what is left.
        for _ in 1..cpus.min(MOST_READERS) {
            let _ = thread::Builder::new().spawn_scoped(scope, read);
        }
        read();
    });
    let inner = |result: Mutex<Reduced>| {
        result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    };
    results.into_iter().map(inner).collect()
}

fn reduce(folder: &Path) -> Reduced {
    match SavedRun::read(folder) {
        Err(error) => {
            // A report is shared: it names folders, and no paths.
            let path = folder.display().to_string();
            (None, Some(format!("{error:#}").replace(&path, &name_of(folder))))
        }
        Ok(run) => {
            let more = match run.warnings.len() {
                0 | 1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            let warning = run.warnings.first().map(|first| format!("{first}{more}"));
            (Some(ReducedRun::of(&name_of(folder), &run)), warning)
        }
    }
}

/// The name of a folder, also of one that is named as `.` or `..`.
fn name_of(folder: &Path) -> String {
    let named = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    named.unwrap_or_else(|| {
        let absolute = folder.canonicalize().unwrap_or_default();
        absolute.file_name().unwrap_or_default().to_string_lossy().into_owned()
    })
}
