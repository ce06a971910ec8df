//! `brigade list`: prints the groups, the cases of a group, or what a case does.

use harness::flags::name;
use harness::terminal;
use harness::tokio_settings::DEFAULTS;

use crate::commands::output;
use crate::exit::Exit;
use crate::manifest::{Case, Group, Manifest, default_seconds};
use crate::measure::availability::Capabilities;
use crate::measure::invoke::command;
use crate::programs;
use crate::shell::quoted;
use crate::show::page::{Table, left, lines, right};

/// Runs `brigade list`.
///
/// # Errors
/// If a name is unknown, the manifest is wrong, or standard output cannot be written.
pub fn list(names: &[String], mut manifest: Manifest) -> anyhow::Result<Exit> {
    manifest.admit(names);
    let chosen = manifest.chosen(names)?;
    let is_group = |name: &String| manifest.groups.iter().any(|group| group.name == *name);
    let text = match names {
        [] => groups(&manifest, &chosen),
        names if names.iter().any(is_group) => {
            let (possible, rest) = Capabilities::detect(&manifest)?.divide(chosen);
            let possible = possible.iter().map(|case| format!("{}\n", case.name));
            let rest = rest.iter().map(|skip| format!("{}: skipped: {}\n", skip.case, skip.reason));
            terminal::text(&possible.chain(rest).collect::<String>())
        }
        _ => {
            let pages: Vec<String> = chosen.iter().map(|case| page(&manifest, case)).collect();
            pages.join("\n")
        }
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

/// The groups, and what `brigade run` runs without one.
fn groups(manifest: &Manifest, default: &[&Case]) -> String {
    let mut table = Table::new([left("group"), right("cases"), right("seconds"), left("question")]);
    let mut push = |name: &str, cases: usize, question: &str| {
        let seconds = format!("{:.0}", default_seconds(cases));
        let cells = [name.to_owned(), cases.to_string(), seconds, question.to_owned()];
        table.push(cells.map(|cell| terminal::line(&cell)).to_vec());
    };
    push("", default.len(), "What does concurrency cost on this machine?");
    for Group { name, question, cases, .. } in &manifest.groups {
        push(name, cases.len(), question);
    }
    let more = "brigade list GROUP prints its cases; brigade list 'CASE' explains one.";
    format!("{}\n{}", table.text(), lines(more))
}

/// What a case does, what is counted, and its known biases: the page of its program.
fn page(manifest: &Manifest, case: &Case) -> String {
    let groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
    let answers =
        groups.map(|group| lines(&terminal::line(&format!("answers: {}", group.question))));
    let page = programs::page(&case.program).map(|page| paragraphs(page.source));
    let page = page.unwrap_or_else(|| {
        format!("What one iteration does: {} --help\n", terminal::line(&case.program))
    });
    let words = command(manifest.program_of(case).form, case, &[]).into_iter();
    let words: Vec<String> = words.filter(|word| word != "--json" && word != "--quiet").collect();
    let by_hand = format!("by hand:  {}\n", quoted(words.iter().map(String::as_str)));
    let run = format!("measure:  {}\n", quoted(["brigade", "run", &case.name]));
    let kind = manifest.task_kind(case);
    let kind = kind.map_or_else(String::new, |kind| format!("kind:     {}\n", name(&kind)));
    let tokio =
        if runs_on_tokio(case) { lines(&format!("--tokio:  {DEFAULTS}")) } else { String::new() };
    let answers: String = answers.collect();
    format!("{answers}\n{page}\n{}", terminal::text(&(kind + &by_hand + &run + &tokio)))
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
