//! The account of a run: what `brigade run` prints at its end, `brigade report`
//! whenever it is asked, and `report.md` keeps.

use std::path::Path;

use harness::paragraph::{item, lines};
use harness::terminal;

use crate::commands::prove;
use crate::judge::prove::proof::Proof;
use crate::judge::report;
use crate::manifest::Manifest;
use crate::plan::history::{self, CaseEnd, RunEnd};
use crate::plan::{Reason, Schedule};
use crate::show::markdown::indented;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::results::Skipped;
use crate::store::results::{self, FurtherRounds, RunDescription};

/// A run, to be told of.
pub struct Account<'a> {
    run: &'a RunDescription,
    environment: &'a Environment,
    invocations: &'a [Invocation],
    manifest: &'a Manifest,
    folder: &'a Path,
    proof: Option<&'a Proof>,
    schedule: Schedule,
    complete: bool,
}

impl<'a> Account<'a> {
    /// The account of `run`, made in `environment`, after these invocations,
    /// whose records are in `folder`; `manifest` has the baselines and the
    /// findings.
    #[must_use]
    pub fn new(
        manifest: &'a Manifest,
        run: &'a RunDescription,
        environment: &'a Environment,
        invocations: &'a [Invocation],
        folder: &'a Path,
    ) -> Self {
        let mut schedule = history::schedule(run, invocations);
        // A comparison ends when its cases are resolved.
        let complete = run.side.is_some() || schedule.next_turn().is_none();
        Self { run, environment, invocations, manifest, folder, proof: None, schedule, complete }
    }

    /// With the proof of the instrument that the run ended with, if it did.
    #[must_use]
    pub fn proven_by(self, proof: Option<&'a Proof>) -> Self {
        Self { proof, ..self }
    }

    /// How the run ended; `None` if it is not complete, or a side of a
    /// comparison.
    #[must_use]
    pub fn end(&self) -> Option<RunEnd> {
        let ended = self.complete && self.run.side.is_none();
        ended.then(|| RunEnd::of(&self.run.cases, &self.schedule))
    }

    /// The account as plain text.
    #[must_use]
    pub fn text(&self) -> String {
        let folder = self.folder.display();
        let resume = match (self.complete, &self.run.procedure) {
            (true, _) => String::new(),
            (false, Some(_)) => {
                format!("not complete; to go on: brigade run --resume {folder}\n")
            }
            (false, None) => "not complete\n".to_owned(),
        };
        let proof = self.proof.map_or_else(String::new, |proof| {
            format!("\nThe instrument ({}):\n{}", results::PROOF, prove::page(proof))
        });
        format!("{}\nrecords in {folder}\n{resume}{proof}", self.body())
    }

    /// The account as a page in Markdown, which names no path.
    #[must_use]
    pub fn page(&self) -> String {
        let RunDescription { started_at, procedure, .. } = self.run;
        let command = procedure.as_ref().map_or_else(String::new, |procedure| {
            format!(", made by\n\n    {}\n", procedure.command.join(" "))
        });
        let name = self.folder.file_name().unwrap_or_default().display();
        let body: String = terminal::text(&self.body()).lines().map(indented).collect();
        format!(
            "# {name}\n\nA run of {started_at}{command}\n{body}\n\
             The records are beside this page; `brigade report` shows them.\n{}",
            self.proof.map_or_else(String::new, proof_section)
        )
    }

    /// Table, notes and findings, what went wrong, the machine, and how far the
    /// run came; without the last line's end.
    fn body(&self) -> String {
        let cases: Vec<&str> = self.run.cases.iter().map(String::as_str).collect();
        let ended: Vec<Invocation> =
            self.invocations.iter().filter(|invocation| !invocation.interrupted).cloned().collect();
        report::summary(self.manifest, &cases, &ended)
            + &self.precision().unwrap_or_default()
            + &not_run(&self.run.skipped)
            + "\n"
            + &lines(&terminal::line(&self.environment.sentence()))
            + &self.extent(ended.len())
    }

    /// Which cases are less precise than was aimed at, if any are.
    fn precision(&self) -> Option<String> {
        let FurtherRounds { target_percent, budget_seconds } =
            self.run.procedure.as_ref()?.further?;
        let mut ends = self.end()?.cases;
        ends.retain(|end| end.reason == Reason::BudgetSpent);
        let wide: Vec<String> = ends
            .iter()
            .map(|CaseEnd { case, rounds, half_width_percent, .. }| match half_width_percent {
                Some(percent) => format!("{case} ±{percent:.1} % (n = {rounds})"),
                None => format!("{case} (n = {rounds})"),
            })
            .collect();
        let sentence = format!(
            "The budget of {budget_seconds} s was spent before ±{target_percent} %: {}.",
            wide.join(", ")
        );
        (!wide.is_empty()).then(|| "\n".to_owned() + &item(&sentence))
    }

    /// How far the run came, and what to repeat it with; `ended` is how many
    /// invocations came to their end.
    fn extent(&self, ended: usize) -> String {
        let RunDescription { profile, rounds, seed, cases, procedure, side, .. } = self.run;
        let adaptive = procedure.as_ref().is_some_and(|procedure| procedure.further.is_some());
        let planned = cases.len() * *rounds as usize;
        let left: usize = self.schedule.remaining().iter().map(|&left| left as usize).sum();
        let count = match planned - left {
            _ if adaptive && left == 0 => ended.to_string(),
            done => format!("{done} of {planned}"),
        };
        let interrupted = match self.invocations.len() - ended {
            0 => String::new(),
            count => format!(" ({count} interrupted)"),
        };
        if let Some(side) = side {
            return format!(
                "{ended} invocations{interrupted}, {side} of a comparison, profile {profile}, \
                 seed {seed}"
            );
        }
        let more = if adaptive { "+" } else { "" };
        format!(
            "{count} invocations{interrupted}, profile {profile}, {rounds}{more} rounds, seed {seed}"
        )
    }
}

/// What the page says of the instrument.
fn proof_section(proof: &Proof) -> String {
    let body: String = terminal::text(&prove::page(proof)).lines().map(indented).collect();
    format!("\n## The instrument\n\n{body}")
}

/// One item for each case that cannot run here.
fn not_run(skipped: &[Skipped]) -> String {
    let said = |Skipped { case, reason }: &Skipped| format!("{case}: skipped: {reason}");
    skipped.iter().map(|skipped| item(&terminal::line(&said(skipped)))).collect()
}
