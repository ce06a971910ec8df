//! The text of `brigade advise`, at most 80 columns wide except commands that are
//! longer themselves.

use textwrap::{Options, WordSeparator, WordSplitter};

use super::page::{COLUMNS, lines};
use crate::judge::advice::{Advice, Effect, Setting};

/// What it begins with.
const HEADING: &str = "Settings of this machine that are known to move what is measured, the \
                       greatest expected effect first. None is tried without --try.";

/// All settings.
pub fn text(advice: &Advice) -> String {
    if advice.settings.is_empty() {
        return lines("No setting that is known to move what is measured applies here.");
    }
    let settings: String = advice.settings.iter().map(setting).collect();
    lines(HEADING) + &settings
}

fn setting(setting: &Setting) -> String {
    let Setting { name, value, advised, effect, does, source, cases, change, .. } = setting;
    let effect = match effect {
        Effect::Factor => "may change costs by a factor",
        Effect::Tenths => "may change costs by tenths",
        Effect::Percents => "may change costs by some percent",
    };
    let heading = format!("{name}: {value}; {advised} {effect}");
    let about = [format!("{does} ({source})"), format!("touches: {}", cases.join(", "))];
    let commands = [("change", change), ("test", &setting.test())];
    let mut text = format!("\n{}", lines(&heading));
    text.extend(about.iter().map(|about| indented(about)));
    text.extend(commands.iter().map(|(name, command)| format!("  {name}: {command}\n")));
    text
}

/// A paragraph, two columns from the margin.
fn indented(text: &str) -> String {
    let options = Options::new(COLUMNS - 2)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).iter().map(|line| format!("  {line}\n")).collect()
}
