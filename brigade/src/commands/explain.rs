//! `brigade explain CASE`: describes a case, its counts, its known biases and its command.

use harness::terminal;

use crate::commands::flags::ExplainFlags;
use crate::commands::output;
use crate::exit::Exit;
use crate::manifest::{Case, Manifest};
use crate::measure::invoke::command;
use crate::programs;
use crate::show::page::lines;

/// Runs `brigade explain`.
///
/// # Errors
/// If there is no such case, or standard output cannot be written.
pub fn explain(flags: &ExplainFlags) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(flags.manifest.as_deref(), None)?;
    let by_title = manifest.cases.iter().find(|case| manifest.title(case) == flags.case);
    let case = match by_title {
        Some(case) => case,
        None => manifest.cases_named(std::slice::from_ref(&flags.case))?[0],
    };
    output::print(&text(&manifest, case))?;
    Ok(Exit::Done)
}

fn text(manifest: &Manifest, case: &Case) -> String {
    let mut text = lines(&terminal::line(&manifest.title(case)));
    let groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
    for group in groups {
        text += &lines(&terminal::line(&format!("answers: {}", group.question)));
    }
    text += "\n";
    text += &programs::page(&case.program).map(paragraphs).unwrap_or_else(|| {
        format!("What one iteration does: {} --help\n", terminal::line(&case.program))
    });
    let words = command(manifest.program_of(case).form, case, &[]).into_iter();
    let words: Vec<String> = words.filter(|word| word != "--json" && word != "--quiet").collect();
    let by_hand = format!("case:     {}\nby hand:  {}\n", case.name, words.join(" "));
    let run = format!("measure:  brigade run --case '{}'\n", case.name);
    text + "\n" + &terminal::text(&(by_hand + &run))
}

/// The paragraphs of a module's documentation, rewrapped.
fn paragraphs(source: &str) -> String {
    let of_module = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: Vec<&str> = of_module.map(str::trim).collect();
    let paragraphs = text.split(|line| line.is_empty()).map(|lines| lines.join(" "));
    let filled: Vec<String> = paragraphs.map(|text| lines(&terminal::line(&text))).collect();
    filled.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_of_a_module_ends_where_its_code_begins() {
        let source = "//! One lap:\n//! a hop.\n//!\n//! Known biases: none.\n\nuse x; //! no\n";
        assert_eq!(paragraphs(source), "One lap: a hop.\n\nKnown biases: none.\n");
    }
}
