//! `brigade advise`: lists settings of this machine that change the results, and measures the
//! effect of one.

use std::path::Path;

use harness::system_files::SystemFiles;

use crate::commands::flags::AdviseFlags;
use crate::commands::output;
use crate::exit::Exit;
use crate::measure::settings::{About, Advice, Effect, Setting};
use crate::show::page::{item, lines};

/// Runs `brigade advise`.
///
/// # Errors
/// If the flags are wrong, a setting cannot be written or restored, or standard
/// output cannot be written; otherwise as `brigade compare`.
pub fn advise(flags: &AdviseFlags) -> anyhow::Result<Exit> {
    let root = flags.root.as_deref().unwrap_or(Path::new("/"));
    let manifest = flags.programs.manifest()?;
    let advice = Advice::of(&SystemFiles::below(root), &manifest.advice);
    let json = || anyhow::Ok(serde_json::to_string(&advice)? + "\n");
    output::print(&if flags.json { json()? } else { text(&advice) })?;
    Ok(Exit::Done)
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
