//! What a run comes to: what `brigade run` prints at its end, `brigade report`
//! whenever it is asked, and `report.md` keeps.

use std::path::Path;

use crate::commands::output;
use crate::judge::prove::Proof;
use crate::judge::report::model::{Report, RunProgress};
use crate::judge::report::{RunData, report};
use crate::manifest::Manifest;
use crate::plan::{RunEnd, Schedule};
use crate::show;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::results::RunDescription;
use crate::store::saved_run::SavedRun;

/// A run with the schedule that it followed.
pub struct Summary<'a> {
    manifest: &'a Manifest,
    run: &'a RunDescription,
    environment: &'a Environment,
    invocations: &'a [Invocation],
    folder: &'a Path,
    proof: Option<&'a Proof>,
    schedule: Schedule,
    complete: bool,
}

impl<'a> Summary<'a> {
    /// The summary of `run`, made in `environment`, after these invocations,
    /// whose records are in `folder`, with the proof of the instrument that the
    /// run ended with, if it did.
    pub fn new(
        manifest: &'a Manifest,
        run: &'a RunDescription,
        environment: &'a Environment,
        invocations: &'a [Invocation],
        folder: &'a Path,
        proof: Option<&'a Proof>,
    ) -> Self {
        let mut schedule = Schedule::of(run, invocations);
        let proven = proof.is_some() || !is_to_be_proven(manifest, run);
        // A comparison ends when its cases are resolved.
        let complete = run.side.is_some() || schedule.next_turn().is_none() && proven;
        Self { manifest, run, environment, invocations, folder, proof, schedule, complete }
    }

    /// How the run ended; `None` if it is not complete, or a side of a
    /// comparison.
    pub fn end(&self) -> Option<RunEnd> {
        let ended = self.complete && self.run.side.is_none();
        ended.then(|| self.schedule.end(&self.run.cases))
    }

    /// What a report is made from.
    pub fn data(&self) -> RunData<'a> {
        let RunDescription { procedure, rounds, side, .. } = self.run;
        let interrupted = self.invocations.iter().filter(|of| of.interrupted).count();
        let remaining: u32 = self.schedule.remaining().iter().sum();
        RunData {
            name: self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            description: self.run,
            environment: self.environment,
            invocations: self.invocations,
            proof: self.proof,
            progress: RunProgress {
                ended: self.invocations.len() - interrupted,
                interrupted,
                planned: self.run.cases.len() * *rounds as usize,
                remaining: if self.complete { 0 } else { remaining as usize },
                is_complete: self.complete,
                rounds: *rounds,
                adaptive: procedure.as_ref().is_some_and(|procedure| procedure.further.is_some()),
                side: side.clone(),
                resumable: procedure.is_some(),
            },
        }
    }

    /// The report of this run alone.
    pub fn report(&self) -> Report {
        report(self.manifest, &[self.data()])
    }

    /// The report as text.
    pub fn text(&self, report: &Report) -> String {
        show::text::text(report, &[self.folder.display().to_string()], output::bars())
    }
}

/// Whether a run ends with a proof: its profile asks for one, and it has all cases
/// of that.
pub fn is_to_be_proven(manifest: &Manifest, run: &RunDescription) -> bool {
    let RunDescription { profile, cases, skipped, .. } = run;
    let asked = manifest.profiles.get(profile).is_some_and(|profile| profile.prove);
    let skipped = || skipped.iter().map(|skipped| &skipped.case);
    let has = |name| cases.iter().chain(skipped()).any(|case| case == name);
    asked && manifest.prove.is_some() && manifest.cases_of(profile).all(|case| has(&case.name))
}

/// A saved run as text, as Markdown and as HTML.
///
/// # Panics
/// Never: the template of the page is a constant.
pub fn renderings(manifest: &Manifest, saved: &SavedRun) -> [String; 3] {
    let SavedRun { description, environment, invocations, .. } = saved;
    let folder = Path::new("results/run");
    let summary = Summary::new(manifest, description, environment, invocations, folder, None);
    let report = summary.report();
    let page = show::html::html(&report);
    [summary.text(&report), show::markdown::markdown(&report), page]
}
