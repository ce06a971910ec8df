//! `brigade list`: prints the groups, the cases of a group, or what a case does.

use harness::tokio_settings::DEFAULTS;
use harness::{flags, terminal};

use crate::commands::output;
use crate::commands::session::check_flags;
use crate::exit::{Exit, UsageError};
use crate::judge::report::OTHER_MANIFEST;
use crate::manifest::{Case, GroupSpec, Manifest, default_seconds};
use crate::measure::availability::Capabilities;
use crate::measure::invoke::command;
use crate::programs;
use crate::shell::quoted;
use crate::show::page::{Table, left, lines, right, unbroken};
use crate::store::results::Skipped;

/// Runs `brigade list`.
///
/// # Errors
/// If a name is unknown, a case has flags that its program refuses, the manifest is wrong, or
/// standard output cannot be written.
pub fn list(names: &[String], mut manifest: Manifest) -> anyhow::Result<Exit> {
    manifest.admit(names);
    let chosen = manifest.chosen(names)?;
    if names.is_empty() {
        output::print(&groups(&manifest, &chosen))?;
        return Ok(Exit::Done);
    }
    check_flags(&manifest, &chosen, &manifest.typed(names), &[])?;
    let programs = chosen.iter().map(|case| &*case.program).collect();
    let capabilities = Capabilities::detect(&manifest, &programs)?;
    let mut pages = Vec::new();
    for name in names {
        pages.push(match manifest.groups.iter().find(|group| group.name == *name) {
            Some(group) => group_page(&manifest, group, &capabilities),
            None => page(&manifest, manifest.case(name).map_err(UsageError)?, &capabilities),
        });
    }
    output::print(&pages.join("\n"))?;
    Ok(Exit::Done)
}

/// The name of the cases that `brigade run` measures without one.
const DEFAULT: &str = "(default)";

/// The groups, and what `brigade run` runs without one.
fn groups(manifest: &Manifest, default: &[&Case]) -> String {
    let mut table = Table::new([left("group"), right("cases"), right("seconds"), left("question")]);
    let mut push = |name: &str, cases: usize, seconds: f64, question: &str| {
        let seconds = format!("{seconds:.0}");
        let cells = [name.to_owned(), cases.to_string(), seconds, question.to_owned()];
        table.push(cells.map(|cell| terminal::line(&cell)).to_vec());
    };
    let seconds = manifest.seconds(&[], default.len());
    push(DEFAULT, default.len(), seconds, "What does concurrency cost on this machine?");
    for GroupSpec { name, question, cases, .. } in &manifest.groups {
        push(name, cases.len(), default_seconds(cases.len()), question);
    }
    let more = format!(
        "{} measures a group; without GROUP it measures the first line. {} prints the cases of a group; {} explains one.",
        unbroken("brigade run GROUP"),
        unbroken("brigade list GROUP"),
        unbroken("brigade list 'CASE'")
    );
    format!("{}\n{}", table.text(), lines(&more))
}

/// A group's question and note, and its cases; those that cannot run here with the reason.
fn group_page(manifest: &Manifest, group: &GroupSpec, capabilities: &Capabilities) -> String {
    let GroupSpec { name, question, note, cases, .. } = group;
    let mut text = lines(&terminal::line(question));
    if let Some(note) = note {
        text += &lines(&terminal::line(note));
    }
    let cases = cases.iter().filter_map(|name| manifest.case(name).ok()).collect();
    let (possible, skipped) = capabilities.divide(cases);
    let possible: String = possible.iter().map(|case| format!("{}\n", case.name)).collect();
    let skipped: String = skipped
        .iter()
        .map(|Skipped { case, reason }| format!("{case}: skipped: {reason}\n"))
        .collect();
    let run = measured_by(manifest, name);
    text + "\n" + &terminal::text(&(possible + &skipped + "\n" + &run))
}

/// The command that measures a group or a case.
fn measured_by(manifest: &Manifest, name: &str) -> String {
    let mut words = vec!["brigade", "run", name];
    if manifest.is_file {
        words.extend(OTHER_MANIFEST);
    }
    format!("measure:  {}\n", quoted(words))
}

/// What a case does, what is counted, and its known biases: the page of its program.
fn page(manifest: &Manifest, case: &Case, capabilities: &Capabilities) -> String {
    let groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
    let answers: String = groups
        .map(|group| lines(&terminal::line(&format!("answers: {}", group.question))))
        .collect();
    let page = programs::page(&case.program).map(|page| paragraphs(page.source));
    let page = page.unwrap_or_else(|| {
        let text = "A program in another language, or outside this repository: what a lap does is in \
                    its source.";
        lines(text)
    });
    let mut text = String::new();
    if let Some(kind) = manifest.task_kind(case) {
        text += &format!("kind:     {}\n", flags::name(&kind));
    }
    if let Some(words) = by_hand(manifest, case) {
        text += &format!("by hand:  {}\n", quoted(words.iter().map(String::as_str)));
    }
    text += &match capabilities.lack(case) {
        None => measured_by(manifest, &case.name),
        Some(reason) => format!("cannot run here: {reason}\n"),
    };
    if runs_on_tokio(case) {
        text += &lines(&format!("--tokio:  {DEFAULTS}"));
    }
    let answers = if answers.is_empty() { answers } else { answers + "\n" };
    format!("{answers}{page}\n{}", terminal::text(&text))
}

/// The command that runs a case without the runner; `None` if its program must be built first, or is
/// a server.
fn by_hand(manifest: &Manifest, case: &Case) -> Option<Vec<String>> {
    let program = manifest.program_of(case);
    let mut words = command(program.form, case, &[]);
    words.retain(|word| word != "--json" && word != "--quiet");
    let mut begin = program.interpreter.clone();
    if program.is_contained() {
        begin = vec!["brigade".to_owned(), case.program.clone()];
    } else if program.server.is_some() {
        return None;
    } else {
        let file = manifest.guests.as_ref()?.join(program.path.as_ref()?);
        begin.push(file.to_string_lossy().into_owned());
    }
    Some([&begin, &words[1..]].concat())
}

/// Whether a case's program takes tokio's settings, and the case runs on tokio.
fn runs_on_tokio(case: &Case) -> bool {
    let defaults = programs::defaults(&case.program);
    let value = |flag| case.parameters.get(flag).or(defaults.get(flag));
    let is_tokio = |value: &String| value.starts_with("tokio");
    programs::has_flag(&case.program, "tokio")
        && ["runtime", "kind"].into_iter().filter_map(value).any(is_tokio)
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
