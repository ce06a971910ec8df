//! `brigade advise`: lists settings of this machine that change the results, each with the command
//! that measures its effect. Brigade itself changes none.

use std::collections::BTreeMap;

use harness::inherited::inherited_by_children;
use harness::system_files::SystemFiles;
use serde::Deserialize;

use crate::commands::flags::AdviseFlags;
use crate::commands::output;
use crate::commands::report::fullest_here;
use crate::exit::Exit;
use crate::judge::advice::{CostKind, Setting, slow, sort_by_worth};
use crate::judge::rank::ranks;
use crate::manifest::Manifest;
use crate::measure::environment::chosen;
use crate::shell::quoted;
use crate::show;
use crate::show::advise::Standing;
use crate::show::json::Advice;
use crate::store::RECORDED;
use crate::store::results::Environment;

/// An entry of `settings.toml`, which explains the keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    file: Option<String>,
    fact: Option<String>,
    value: Option<String>,
    #[serde(default)]
    is_hidden: bool,
    advised: String,
    #[serde(default)]
    only: String,
    #[serde(default)]
    needs: BTreeMap<String, String>,
    change: Option<String>,
    cost: CostKind,
    does: String,
    source: String,
}

/// Runs `brigade advise`.
///
/// # Errors
/// If the manifest cannot be read, or standard output cannot be written.
///
/// # Panics
/// Never: `settings.toml` is part of this program.
pub fn advise(flags: &AdviseFlags, manifest: &Manifest) -> anyhow::Result<Exit> {
    let files = flags.root.clone().map_or_else(SystemFiles::live, SystemFiles::Below);
    let mut facts = Environment::of_machine(&files);
    if flags.root.is_none() {
        facts.facts.extend(inherited_by_children(None));
    }
    let unusual = facts.unusual();
    let table: BTreeMap<String, Vec<Entry>> =
        toml::from_str(include_str!("settings.toml")).expect("a table that is tested");
    let entries = table.into_values().flatten();
    let settings = entries.filter_map(|entry| {
        let cases = manifest.advice.get(&entry.cost).map_or(&[][..], Vec::as_slice);
        entry.applied(&files, &facts, cases)
    });
    let mut settings: Vec<Setting> = settings.collect();
    if flags.json {
        output::print(&output::json(&Advice::new(&settings, &unusual))?)?;
        return Ok(Exit::Done);
    }
    let run = if flags.root.is_none() { fullest_here(manifest) } else { None };
    let ranks = run.as_ref().map_or_else(Vec::new, |run| ranks(manifest, &RECORDED, run));
    let is_comparable = run.as_ref().is_some_and(|report| report.run.state.is_comparable);
    let slow = if is_comparable { slow(&ranks) } else { Vec::new() };
    sort_by_worth(&mut settings, &slow);
    let standing = run.as_ref().map(|report| Standing { report, ranks: &ranks, slow: &slow });
    let page = show::advise::page(standing.as_ref(), &settings, &unusual);
    output::print(&show::page::text(&page))?;
    Ok(Exit::Done)
}

impl Entry {
    /// The setting on this machine; `None` if it does not apply.
    fn applied(
        self,
        files: &SystemFiles,
        facts: &Environment,
        cases: &[String],
    ) -> Option<Setting> {
        let is_met = |(file, word): (&String, &String)| {
            let line = files.line(file).unwrap_or_default();
            word.strip_prefix('!').map_or_else(|| line.contains(word), |no| !line.contains(no))
        };
        let read = |path: String| match &self.value {
            Some(value) => Some(value.clone()),
            None if self.is_hidden => Some(String::new()),
            None => files.line(&path).filter(|line| line.contains(&self.only)),
        };
        let mut now = match &self.file {
            Some(file) => in_files(files, file).into_iter().find_map(read)?,
            None => facts.get(self.fact.as_ref()?)?.to_owned(),
        };
        let Self { file, advised, change, .. } = &self;
        let cases = quoted(cases.iter().map(String::as_str));
        let mut test = format!("brigade run {cases}");
        let mut restore = None;
        if let Some(file) = file
            && change.is_none()
        {
            // The selected one of several choices.
            now = chosen(&now).unwrap_or(now);
            let write = |value: &str| format!("echo {value} | tee /{file}");
            let wrap = |value| format!(r#"'sh -c "{} >/dev/null; exec \"\$@\"" sh'"#, write(value));
            test =
                format!("brigade compare --wrap {} --wrap {} {cases}", wrap(&now), wrap(advised));
            restore = Some(write(&now));
        }
        if now == *advised || !self.needs.iter().all(is_met) {
            return None;
        }
        Some(Setting {
            name: self.name,
            file: self.file,
            fact: self.fact,
            now: if self.is_hidden { None } else { Some(now) },
            advised: self.advised,
            change: self.change,
            does: self.does,
            source: self.source,
            test,
            restore,
            cost: self.cost,
        })
    }
}

/// The files that may match a pattern, in which one `*` may end a name.
fn in_files(files: &SystemFiles, pattern: &str) -> Vec<String> {
    let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
    let (folder, start) = start.rsplit_once('/').unwrap_or(("", start));
    let mut names = files.names(folder);
    names.retain(|name| name == start || pattern.contains('*') && name.starts_with(start));
    names.iter().map(|name| format!("{folder}/{name}{end}")).collect()
}
