//! `brigade advise`: which settings of this machine move what is measured, and what
//! one of them does, tried.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use harness::system_files::SystemFiles;

use crate::commands::compare::{self, Side};
use crate::commands::flags::{AdviseFlags, CompareFlags};
use crate::commands::output;
use crate::exit::{Exit, UsageError};
use crate::judge::advice::{Advice, Setting};
use crate::manifest::Manifest;
use crate::measure::environment::chosen;
use crate::measure::restorer::{self, Content, Restorer};
use crate::measure::settings::settings;
use crate::show;

/// Runs `brigade advise`.
///
/// # Errors
/// When the flags are wrong, a setting cannot be written or put back, or standard
/// output cannot be written; otherwise as `brigade compare`.
pub fn advise(flags: &AdviseFlags) -> anyhow::Result<Exit> {
    let root = flags.root.as_deref().unwrap_or(Path::new("/"));
    let manifest = Manifest::load(flags.programs.manifest.as_deref())?;
    let advice = Advice::of(settings(&SystemFiles::below(root)), &manifest.advice);
    if let Some(wish) = &flags.tried {
        return attempt(flags, root, &advice, wish);
    }
    output::print(&match flags.json {
        true => serde_json::to_string(&advice)? + "\n",
        false => show::advice::text(&advice),
    })?;
    Ok(Exit::Done)
}

/// Measures the cases that a setting touches, as it is and as `wish` has it.
fn attempt(flags: &AdviseFlags, root: &Path, advice: &Advice, wish: &str) -> anyhow::Result<Exit> {
    let (name, value) = match wish.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (wish, None),
    };
    let setting = found(advice, name)?;
    let value = value.unwrap_or(&setting.advised);
    let now = contents(root, setting)?;
    let then: Vec<Content> = now.iter().map(|(path, _)| (path.clone(), value.to_owned())).collect();
    let cases = if flags.cases.is_empty() { &setting.cases } else { &flags.cases };
    if cases.is_empty() {
        let advice = format!("advise --try {name}: suite.toml names no case for it; use --case");
        return Err(UsageError(advice).into());
    }
    // Nothing changes, but it fails where the right is missing.
    restorer::write(&now).context("advise --try changes the machine, as root")?;
    for (path, text) in &now {
        let path = path.display();
        output::complain(&format!("{path} is {text}, will be {value} in turn, and then {text}"));
    }
    let restorer = Restorer::start(&now).context("starting what puts settings back")?;
    let side = |contents: Vec<Content>, text: String| Side {
        setting: Some((text, contents)),
        ..Side::default()
    };
    let sides = [
        side(now, format!("{name} as it is: {}", setting.value)),
        side(then, format!("{name}={value}")),
    ];
    let compared = compare::side_by_side(&compare_flags(flags, cases.clone()), sides);
    let restored = restorer.restore();
    let exit = compared?;
    restored?;
    output::complain(&format!("{name} is {} again", setting.value));
    Ok(exit)
}

/// The setting of this name, if it can be changed while the machine runs.
fn found<'a>(advice: &'a Advice, name: &str) -> anyhow::Result<&'a Setting> {
    let setting = advice.settings.iter().find(|setting| setting.name == name);
    let can_be_tried = |setting: &&Setting| !setting.files.is_empty();
    match setting {
        Some(setting) if can_be_tried(&setting) => Ok(setting),
        Some(setting) => Err(UsageError(format!(
            "advise --try {name}: it takes more than writing a file: {}",
            setting.change
        ))
        .into()),
        None => {
            let known = advice.settings.iter().filter(can_be_tried);
            let known: Vec<&str> = known.map(|setting| setting.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(UsageError(format!(
                "advise --try {name}: no such setting applies here; those that can be tried: \
                 {known}"
            ))
            .into())
        }
    }
}

/// The files of a setting and what they hold, each as it is to be written.
fn contents(root: &Path, setting: &Setting) -> anyhow::Result<Vec<Content>> {
    let content = |file: &String| {
        let path = root.join(file);
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let choice = chosen(&text, '[', ']').or_else(|| chosen(&text, '(', ')'));
        Ok((path, choice.unwrap_or_else(|| text.trim().to_owned())))
    };
    setting.files.iter().map(content).collect()
}

fn compare_flags(flags: &AdviseFlags, cases: Vec<String>) -> CompareFlags {
    CompareFlags {
        profile: "default".to_owned(),
        cases,
        budget: flags.budget,
        margin: 3.0,
        seed: flags.seed,
        results: flags.results.clone(),
        name: flags.name.clone(),
        programs: flags.programs.clone(),
        ..CompareFlags::default()
    }
}
