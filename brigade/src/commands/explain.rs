//! `brigade explain CASE`: what a case does, what is counted, which biases are known, and how
//! to run it by hand.

use std::fs;

use harness::terminal;

use crate::commands::flags::ExplainFlags;
use crate::commands::output;
use crate::exit::{Exit, UsageError};
use crate::manifest::program::{Program, Source};
use crate::manifest::{Case, Manifest};
use crate::measure::invoke::command;
use crate::show::page::lines;

/// Runs `brigade explain`.
///
/// # Errors
/// [`UsageError`] for a case that is not there; when standard output cannot be written.
pub fn explain(flags: &ExplainFlags) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(flags.manifest.as_deref())?;
    let by_title = manifest.cases.iter().find(|case| manifest.title(case) == flags.case);
    let case = match by_title {
        Some(case) => case,
        None => match manifest.cases_named(std::slice::from_ref(&flags.case)) {
            Ok(cases) => cases[0],
            Err(UsageError(reason)) => {
                return Err(UsageError(reason.replacen("--case: ", "", 1)).into());
            }
        },
    };
    output::print(&text(&manifest, case))?;
    Ok(Exit::Done)
}

fn text(manifest: &Manifest, case: &Case) -> String {
    let program = manifest.program_of(case);
    let mut text = lines(&terminal::line(&manifest.title(case)));
    let groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
    for group in groups {
        text += &lines(&terminal::line(&format!("answers: {}", group.question)));
    }
    text += "\n";
    text += &documentation(manifest, program).unwrap_or_else(|| {
        format!("What one iteration does: {} --help\n", terminal::line(&case.program))
    });
    let words = command(program.form, case, &[]).into_iter();
    let words: Vec<String> = words.filter(|word| word != "--json" && word != "--quiet").collect();
    let by_hand = format!("case:     {}\nby hand:  {}\n", case.name, words.join(" "));
    let run = format!("measure:  brigade run --case '{}'\n", case.name);
    text + "\n" + &terminal::text(&(by_hand + &run))
}

/// What the program's source says of itself: its module documentation.
fn documentation(manifest: &Manifest, program: &Program) -> Option<String> {
    let Source::Package(package) = &program.source else { return None };
    let folder = manifest.root.join(package).join("src");
    let files = ["lib.rs", "main.rs"].map(|file| folder.join(file));
    let documented = files.into_iter().filter_map(|file| fs::read_to_string(file).ok());
    documented.map(|source| paragraphs(&source)).find(|text| !text.is_empty())
}

/// The paragraphs of a module's documentation, filled anew.
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
