//! Shell completions and manual pages.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use clap::{Command, CommandFactory as _};
use clap_complete::CompleteEnv;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::commands::flags::{Cli, HELP};
use crate::commands::values;
use crate::exit::Exit;
use crate::programs;

/// Answers a shell that requests completions (`COMPLETE=bash brigade`), and exits.
pub fn complete() {
    let own = || values::completed(Cli::command());
    let command = || programs::names().map(Command::new).fold(own(), Command::subcommand);
    CompleteEnv::with_factory(command).complete();
}

/// Runs `brigade man`: writes a page for `brigade` and for each command.
///
/// # Errors
/// When a page cannot be written.
pub fn manual(folder: &Path) -> anyhow::Result<Exit> {
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    for command in whole.get_subcommands().filter(|of| !of.is_hide_set()).chain([&whole]) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let path = folder.join(format!("{name}.1"));
        let page = page(name, command.clone()).and_then(|page| fs::write(&path, page));
        page.with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(Exit::Done)
}

/// One page; the text after the flags becomes sections.
fn page(name: &str, command: Command) -> std::io::Result<Vec<u8>> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut page = Vec::new();
    Man::new(command.after_help(None::<&str>)).title(name).render(&mut page)?;
    let files = HELP["files"].as_str();
    for paragraph in help.split("\n\n").chain([files]) {
        let (title, text) = match paragraph.split_once(": ").or(paragraph.split_once(":\n")) {
            Some(("Examples", text)) => ("EXAMPLES", text),
            Some(("Exit codes", text)) => ("EXIT STATUS", text),
            _ if paragraph == files => ("FILES", paragraph),
            _ => ("NOTES", paragraph),
        };
        let mut section = Roff::new();
        section.control("SH", [title]).control(if title == "NOTES" { "fi" } else { "nf" }, []);
        let text = if title == "EXIT STATUS" { by_code(text) } else { text.to_owned() };
        section.text(text.lines().map(|line| roman(format!("{line}\n"))).collect::<Vec<_>>());
        page.write_all(section.control("fi", []).render().as_bytes())?;
    }
    Ok(page)
}

/// Exit codes, one per line.
fn by_code(codes: &str) -> String {
    let part = |part: &str| match part.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("\n{part}"),
        false => format!(", {part}"),
    };
    codes.split(", ").map(part).collect::<String>().trim_start().to_owned()
}
