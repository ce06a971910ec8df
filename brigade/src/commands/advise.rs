//! `brigade advise`: lists settings of this machine that change the results, and measures the
//! effect of one.

use std::path::Path;

use anyhow::Context as _;
use harness::system_files::SystemFiles;

use crate::commands::compare::{self, Side};
use crate::commands::flags::{AdviseFlags, CompareFlags};
use crate::commands::output;
use crate::exit::{Exit, UsageError};
use crate::measure::settings::{self, About, Advice, Content, Effect, Restorer, Setting, write};
use crate::show::page::{item, lines};

/// Runs `brigade advise`.
///
/// # Errors
/// If the flags are wrong, a setting cannot be written or restored, or standard
/// output cannot be written; otherwise as `brigade compare`.
pub fn advise(flags: &AdviseFlags) -> anyhow::Result<Exit> {
    let root = flags.root.as_deref().unwrap_or(Path::new("/"));
    if flags.restore {
        settings::restore(root)?;
        return Ok(Exit::Done);
    }
    warn_of_left(root);
    let manifest = flags.programs.manifest()?;
    let advice = Advice::of(&SystemFiles::below(root), &manifest.advice);
    if let Some(wish) = &flags.tried {
        return attempt(flags, root, &advice, wish);
    }
    let json = || anyhow::Ok(serde_json::to_string(&advice)? + "\n");
    output::print(&if flags.json { json()? } else { text(&advice) })?;
    Ok(Exit::Done)
}

/// Warns of settings that a killed `advise --try` did not restore.
pub fn warn_of_left(root: &Path) {
    for (path, text) in settings::left_behind(root) {
        let path = path.display();
        let restore = format!("brigade advise --restore restores {text}");
        output::warn(&format!("a killed `advise --try` left {path} changed: {restore}"));
    }
}

/// Measures the cases that a setting affects, with its current value and with `wish`.
fn attempt(flags: &AdviseFlags, root: &Path, advice: &Advice, wish: &str) -> anyhow::Result<Exit> {
    let (name, value) =
        wish.split_once('=').map_or((wish, None), |(name, value)| (name, Some(value)));
    let setting = found(advice, name)?;
    let value = value.unwrap_or(&setting.advised);
    let now = setting.files.iter().map(|(file, text)| (root.join(file), text.clone()));
    let now: Vec<Content> = now.collect();
    let then: Vec<Content> = now.iter().map(|(path, _)| (path.clone(), value.to_owned())).collect();
    let cases = if flags.cases.is_empty() { &setting.cases } else { &flags.cases };
    if cases.is_empty() {
        let advice = format!("advise --try {name}: suite.toml lists no case for it; use --case");
        return Err(UsageError(advice).into());
    }
    // Writes the current value: changes nothing, but fails without permission.
    write(&now).context("advise --try changes a machine setting: run it as root")?;
    for (path, text) in &now {
        let path = path.display();
        output::warn(&format!("{path} is {text}; it alternates with {value} and ends as {text}"));
    }
    let restorer =
        Restorer::start(root, &now).context("starting the process that restores settings")?;
    let side = |contents, text| Side { setting: Some((text, contents)), ..Side::default() };
    let sides = [
        side(now, format!("{name} unchanged: {}", setting.value)),
        side(then, format!("{name}={value}")),
    ];
    let compare_flags = CompareFlags {
        cases: cases.clone(),
        rounds: flags.rounds,
        budget: flags.budget,
        margin: 3.0,
        seed: flags.seed,
        results: flags.results.clone(),
        name: flags.name.clone(),
        programs: flags.programs.clone(),
        ..CompareFlags::default()
    };
    let compared = compare::side_by_side(&compare_flags, sides);
    let restored = restorer.restore();
    let exit = compared?;
    restored?;
    output::warn(&format!("{name} is {} again", setting.value));
    Ok(exit)
}

/// The setting with this name, if it can be changed at run time.
fn found<'a>(advice: &'a Advice, name: &str) -> Result<&'a Setting, UsageError> {
    let reason = match advice.settings.iter().find(|setting| setting.about.name == name) {
        Some(setting) if !setting.files.is_empty() => return Ok(setting),
        Some(setting) => format!("it cannot be changed by writing a file: {}", setting.change),
        None => {
            let known = advice.settings.iter().filter(|setting| !setting.files.is_empty());
            let known: Vec<&str> = known.map(|setting| setting.about.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("no such setting on this machine; try one of: {known}")
        }
    };
    Err(UsageError(format!("advise --try {name}: {reason}")))
}

/// All settings as text, 80 columns wide except for long commands.
fn text(advice: &Advice) -> String {
    if advice.settings.is_empty() {
        return lines("No setting known to change the results applies here.");
    }
    let heading = "Settings of this machine that are known to change the results, largest effect \
        first. Only --try changes one.";
    let settings = advice.settings.iter().map(|setting| {
        let Setting { about, value, advised, cases, change, .. } = setting;
        let About { name, effect, does, source, .. } = about;
        let effect = match effect {
            Effect::Factor => "may change costs several-fold",
            Effect::Tenths => "may change costs by 10 % or more",
            Effect::Percents => "may change costs by a few percent",
        };
        let heading = lines(&format!("{name}: {value}; {advised} {effect}"));
        let about = item(&format!("{does} ({source})"));
        let cases = item(&format!("cases: {}", cases.join(", ")));
        let test = setting.test();
        format!("\n{heading}{about}{cases}  change: {change}\n  test: {test}\n")
    });
    lines(heading) + &settings.collect::<String>()
}
