//! `brigade limits`: predicts how many tasks of each kind fit and which limit to raise.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum as _;
use harness::limits::{Forecast, Kind, Limit, Need, Resource, admit, in_force};
use harness::system_files::SystemFiles;

use crate::commands::flags::{LimitsFlags, ProgramFlags};
use crate::commands::{output, report};
use crate::exit::Exit;
use crate::manifest::MeasuredKinds;
use crate::show::limits::{KindForecast, LimitsReport, OfTasks, SCHEMA_VERSION, page};
use crate::store::environment::Environment;
use crate::store::saved_run::SavedRun;

/// Runs `brigade limits`.
///
/// # Errors
/// If standard output cannot be written.
pub fn limits(flags: &LimitsFlags) -> anyhow::Result<Exit> {
    let limits = in_force(&SystemFiles::live());
    let kinds = flags.kind.map_or_else(|| Kind::value_variants().to_vec(), |kind| vec![kind]);
    // The same words as a program's refusal.
    let refusal = |kind: &Kind| {
        let refusal = admit(&Need::new(*kind, flags.tasks?), &limits).err()?;
        Some(if flags.kind.is_some() { refusal.to_string() } else { format!("{kind}: {refusal}") })
    };
    let refusals: Vec<String> = kinds.iter().filter_map(refusal).collect();
    let (all, none_fit) = (kinds.len(), refusals.len() == kinds.len());
    let costs = flags.tasks.map(|_| Measured::here(&flags.programs)).unwrap_or_default();
    let forecast = |kind: Kind, limits: &[Limit]| KindForecast {
        kind,
        forecast: Forecast::new(&Need::new(kind, 0), limits.to_vec(), flags.tasks),
        of_tasks: flags.tasks.map(|tasks| costs.of(kind, tasks)),
    };
    let kinds = kinds.into_iter().map(|kind| forecast(kind, &limits)).collect();
    let report = LimitsReport {
        schema_version: SCHEMA_VERSION.to_owned(),
        tasks: flags.tasks,
        kinds,
        runs: costs.runs,
    };
    let text = if flags.json { serde_json::to_string(&report)? + "\n" } else { page(&report) };
    output::print(&text)?;
    // The table of all kinds already shows which fit.
    if all == 1 || flags.json {
        refusals.iter().for_each(|refusal| output::warn(refusal));
    }
    Ok(if none_fit { Exit::Limit } else { Exit::Done })
}

/// The cost of tasks in this machine's saved runs.
#[derive(Default)]
struct Measured {
    /// By kind: creation time per task in nanoseconds, and memory per task in
    /// bytes.
    kinds: Vec<(Kind, Option<f64>, Option<f64>)>,
    runs: Vec<String>,
}

impl Measured {
    /// From the latest run of each case; empty without a manifest or a run.
    fn here(flags: &ProgramFlags) -> Self {
        let Ok(manifest) = flags.manifest() else {
            return Self::default();
        };
        let plans = manifest.limits.as_ref().map_or(&[][..], |limits| &limits.measured);
        let mut open: BTreeSet<&String> =
            plans.iter().flat_map(|of| of.create.iter().chain(&of.memory)).collect();
        let (mut found, mut runs) = (BTreeMap::new(), Vec::new());
        let label = Environment::capture(&manifest).map(|environment| environment.label());
        let parent = manifest.results();
        for folder in SavedRun::latest_first(&parent, label.ok().as_deref()) {
            let report = match open.is_empty() {
                true => break,
                false => report::report_of(&manifest, &folder),
            };
            let Ok(report) = report else { continue };
            let known = found.len();
            for row in report.groups.iter().flat_map(|group| &group.rows) {
                if let Some(of) = row.figure
                    && let Some(name) = open.take(&row.case)
                {
                    found.insert(name, of.value);
                }
            }
            runs.extend((found.len() > known).then(|| report.run.name.clone()));
        }
        let figure = |case: &Option<String>| found.get(case.as_ref()?).copied();
        let of_plan = |plan: &MeasuredKinds| {
            let Some(base) = plan.kinds.first().copied() else { return Vec::new() };
            let bytes = |kind: Kind| Need::new(kind, 1).per_task().of(Resource::Memory) as f64;
            let with_channel = |kind| Some(figure(&plan.memory)? + bytes(kind) - bytes(base));
            let kinds = plan.kinds.iter();
            kinds.map(|kind| (*kind, figure(&plan.create), with_channel(*kind))).collect()
        };
        Self { kinds: plans.iter().flat_map(of_plan).collect(), runs }
    }

    /// The cost of this many tasks.
    fn of(&self, kind: Kind, tasks: u64) -> OfTasks {
        let known = self.kinds.iter().find(|(of, ..)| *of == kind);
        let all = |each: Option<f64>| Some(each? * tasks as f64);
        OfTasks {
            memory_bytes: all(known.and_then(|(.., bytes)| *bytes)),
            create_ns: all(known.and_then(|(_, ns, _)| *ns)),
        }
    }
}
