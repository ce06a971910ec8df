//! `brigade advise`: lists settings of this machine that change the results, each with the command
//! that measures its effect. Brigade itself changes none.

use std::collections::BTreeMap;

use harness::inherited::inherited_by_children;
use harness::system_files::SystemFiles;
use serde::{Deserialize, Serialize};

use crate::commands::flags::AdviseFlags;
use crate::commands::output;
use crate::commands::report::fullest_here;
use crate::exit::Exit;
use crate::judge::environment::Unusual;
use crate::judge::rank::{Rank, ranks};
use crate::judge::report::Report;
use crate::manifest::Manifest;
use crate::measure::environment::chosen;
use crate::shell::quoted;
use crate::show::page::{self, Block, Table, item, joined};
use crate::show::quantity::figure;
use crate::show::verdict::{Verdict, verdict};
use crate::store::RECORDED;
use crate::store::results::Environment;

/// The headings.
const INHERITED: &str = "Programs started here inherit, unlike the usual value in parentheses:";
const SETTINGS: &str = "Settings of this machine that are known to change the results, largest \
    expected effect first. Tests that write one need root.";
const NO_SETTINGS: &str = "No setting known to change the results applies here.";

/// An entry of `settings.toml`, which explains the keys, and its state on this machine.
#[derive(Deserialize, Serialize)]
struct Setting {
    name: String,
    file: Option<String>,
    fact: Option<String>,
    value: Option<String>,
    advised: String,
    #[serde(default, skip_serializing)]
    only: String,
    #[serde(default, skip_serializing)]
    needs: BTreeMap<String, String>,
    change: Option<String>,
    #[serde(skip_serializing)]
    cost: String,
    does: String,
    source: String,
    #[serde(default)]
    now: String,
    /// Commands that measure its effect, and that restore it.
    test: Option<String>,
    restore: Option<String>,
    /// Those that show its effect.
    #[serde(skip)]
    cases: Vec<String>,
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
    let table: BTreeMap<String, Vec<Setting>> =
        toml::from_str(include_str!("settings.toml")).expect("a table that is tested");
    let advice = table.into_values().flatten().filter_map(|mut setting| {
        setting.cases = manifest.advice.get(&setting.cost).cloned().unwrap_or_default();
        setting.applied(&files, &facts)
    });
    let advice: Vec<Setting> = advice.collect();
    if flags.json {
        let settings = advice.iter().map(serde_json::to_value);
        let all = settings.chain(unusual.iter().map(serde_json::to_value));
        output::print(&output::json(&all.collect::<Result<Vec<_>, _>>()?)?)?;
        return Ok(Exit::Done);
    }
    let run = flags.root.is_none().then(|| fullest_here(manifest)).flatten();
    let mut page = run.map_or_else(Vec::new, |run| slowness(manifest, &run, &advice));
    if !unusual.is_empty() {
        page.push(Block::Heading(2, INHERITED.to_owned()));
        page.push(Block::Items(unusual.iter().map(unlike_usual).collect()));
    }
    let heading = if advice.is_empty() { NO_SETTINGS } else { SETTINGS };
    page.push(Block::Heading(2, heading.to_owned()));
    page.extend(advice.iter().flat_map(Setting::blocks));
    output::print(&page::text(&page))?;
    Ok(Exit::Done)
}

/// A fact that programs started here inherit.
fn unlike_usual(Unusual { name, now, usual, does, .. }: &Unusual) -> String {
    let usual = usual.first().map_or("usually absent", String::as_str);
    format!("{name}: {now} ({usual}): {does}")
}

impl Setting {
    /// The setting on this machine; `None` if it does not apply.
    fn applied(self, files: &SystemFiles, facts: &Environment) -> Option<Self> {
        let is_met = |(file, word): (&String, &String)| {
            let line = files.line(file).unwrap_or_default();
            word.strip_prefix('!').map_or_else(|| line.contains(word), |no| !line.contains(no))
        };
        let read = |path: String| match &self.value {
            Some(value) => Some(value.clone()),
            None => files.line(&path).filter(|line| line.contains(&self.only)),
        };
        let mut now = match (&self.file, &self.fact) {
            (Some(file), _) => in_files(files, file).into_iter().find_map(read)?,
            (None, fact) => facts.get(fact.as_ref()?)?.to_owned(),
        };
        let Self { file, advised, change, .. } = &self;
        let cases = quoted(self.cases.iter().map(String::as_str));
        let (mut restore, mut test) = (None, format!("brigade run {cases}, before and after"));
        if let (Some(file), None) = (file, change) {
            // The selected one of several choices.
            now = chosen(&now).unwrap_or(now);
            let write = |value: &str| format!("echo {value} | tee /{file}");
            let wrap = |value| format!(r#"'sh -c "{} >/dev/null; exec \"\$@\"" sh'"#, write(value));
            test =
                format!("brigade compare --wrap {} --wrap {} {cases}", wrap(&now), wrap(advised));
            restore = Some(write(&now));
        }
        let applies = now != *advised && self.needs.iter().all(is_met);
        applies.then_some(Self { now, test: Some(test), restore, ..self })
    }

    /// The setting with its commands, which are not wrapped.
    fn blocks(&self) -> [Block; 2] {
        let Self { name, advised, change, does, source, now, test, restore, .. } = self;
        let mut text = item(&format!("{does} ({source})"));
        for (what, command) in [("change", change), ("test", test), ("restore", restore)] {
            text.extend(command.iter().map(|command| format!("  {what}: {command}\n")));
        }
        [Block::Heading(2, format!("{name}: {now}; advised: {advised}")), Block::Code(text)]
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

/// Whether this machine is slow: each figure of a run among recorded machines, and a setting that
/// may be the reason.
fn slowness(manifest: &Manifest, run: &Report, advice: &[Setting]) -> Vec<Block> {
    let ranks = ranks(manifest, &RECORDED, run);
    let slow = ranks.iter().filter(|rank| rank.is_slow()).count();
    let most = ranks.iter().map(|rank| rank.known).max().unwrap_or(0);
    let answer = match slow {
        0 => "No",
        slow if 2 * slow > ranks.len() => "Yes",
        _ => "In part",
    };
    let Verdict { word, text, .. } = verdict(&run.run);
    let answer = if run.run.state.is_comparable {
        format!(
            "{answer}: {slow} of {} figures are worse than those of most of {most} recorded machines.",
            ranks.len()
        )
    } else {
        format!("{word}: {text} No answer; repeat it on a quiet machine: brigade run")
    };
    let mut table = Table::of("figure|>here|worse than|suspect");
    for rank @ Rank { row, block, better, known } in &ranks {
        let may_slow = |setting: &&Setting| rank.is_slow() && setting.cases.contains(&row.case);
        let suspect = advice.iter().find(may_slow);
        let suspect = suspect.map_or(String::new(), |setting| setting.name.clone());
        let mark = if rank.is_slow() { " !" } else { "" };
        let rank = format!("{better} of {known}{mark}");
        table.push(vec![joined([&row.label, block]), figure(row), rank, suspect]);
    }
    let source = format!("Medians of {}, which was {word}.", run.run.name);
    vec![Block::Paragraph(answer), Block::Table(table), Block::Paragraph(source)]
}
