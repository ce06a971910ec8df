//! The programs that this binary contains. Each runs as a separate process: `brigade` starts itself
//! under the program's name, or with that name as the first word.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{CString, OsStr};
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, Command};
use harness::TaskKind;
use harness::page::Page;
use nix::sys::prctl;

/// The pages of all programs.
const PAGES: &[Page] = &[
    async_brigade::PAGE,
    async_creation::PAGE,
    async_mem_brigade::PAGE,
    blocking_crossing::PAGE,
    channel_load::PAGE,
    coroutine_brigade::PAGE,
    echo_server::PAGE,
    event_loop_brigade::PAGE,
    executor_ring::PAGE,
    lock_hand_over::PAGE,
    one_thread_brigade::PAGE,
    process_creation::PAGE,
    rings::PAGE,
    task_memory::PAGE,
    thread_brigade::PAGE,
    thread_creation::PAGE,
    thread_switch::PAGE,
    timer_cost::PAGE,
    wake_all::PAGE,
    wake_latency::PAGE,
    yield_cost::PAGE,
];

/// The names of all programs.
pub fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.name)
}

/// The command lines of all programs.
pub fn commands() -> impl Iterator<Item = Command> {
    PAGES.iter().map(|page| (page.command)())
}

/// The page of the program with this name.
pub fn page(name: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.name == name)
}

/// The flags of a program with their defaults, by their names in records; none if `name` is no
/// program of this binary.
pub fn defaults(name: &str) -> BTreeMap<String, String> {
    let Some(page) = page(name) else { return BTreeMap::new() };
    let command = (page.command)();
    let default = |arg: &Arg| match arg.get_default_values() {
        [value] => Some((arg.get_long()?.replace('-', "_"), value.to_str()?.to_owned())),
        _ => None,
    };
    command.get_arguments().filter_map(default).collect()
}

/// Whether a program of this binary has this flag.
pub fn has_flag(name: &str, flag: &str) -> bool {
    let command = page(name).map(|page| (page.command)());
    command.is_some_and(|command| command.get_arguments().any(|arg| arg.get_long() == Some(flag)))
}

/// What the tasks of a program are with these flags, as it declares; `None` if it refuses the flags
/// or does not know, or is no program of this binary.
pub fn task_kind(name: &str, flags: &[String]) -> Option<TaskKind> {
    (page(name)?.declaration)(flags).ok()?.kind
}

/// Why a program refuses these flags on any machine; `None` if it accepts them, or is no program of
/// this binary.
pub fn refusal(name: &str, flags: &[String]) -> Option<String> {
    let error = (page(name)?.declaration)(flags).err()?;
    Some(match error.downcast_ref::<clap::Error>() {
        Some(error) if error.use_stderr() => harness::flags::reason(error),
        Some(_) => "with this flag it measures nothing".to_owned(),
        None => format!("{error:#}"),
    })
}

/// Runs a program if this process was started under its name.
pub fn run() -> Option<ExitCode> {
    let mut words = env::args_os();
    let first = words.next()?;
    let called = |word: &OsStr| PAGES.iter().find(|page| word == page.name);
    let page = Path::new(&first)
        .file_name()
        .and_then(called)
        .or_else(|| words.next().as_deref().and_then(called))?;
    // Only for `ps` and `top`, which would show `brigade` or `exe`.
    let _ = CString::new(page.name).map(|name| prctl::set_name(&name));
    Some((page.main)())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runner asks for cases that the machine cannot run, too.
    #[test]
    fn a_program_declares_what_its_tasks_are_on_any_machine() {
        for (program, flags, kind) in [
            ("thread-switch", "--via spin --placement spread", Some(TaskKind::Thread)),
            ("thread-switch", "--via pipe --self", Some(TaskKind::None)),
            ("thread-brigade", "--kind process --tasks 4000000000", Some(TaskKind::Process)),
            ("process-creation", "--resident-mib 1048576", Some(TaskKind::Process)),
            ("echo-server", "--kind epoll --tasks 4000000000", Some(TaskKind::EventLoop)),
            ("echo-server", "--server none", None),
        ] {
            let words: Vec<String> = flags.split(' ').map(str::to_owned).collect();
            assert_eq!(task_kind(program, &words), kind, "{program} {flags}");
        }
        assert_eq!(task_kind("thread-brigade", &["--kind=fibre".to_owned()]), None);
        assert_eq!(task_kind("python-brigade", &[]), None);
    }

    #[test]
    fn flags_that_no_machine_accepts_are_refused_with_the_nearest_word() {
        let refused = |program: &str, flags: &str| {
            let words: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
            refusal(program, &words)
        };
        for (program, flags, reason) in [
            ("thread-brigade", "--taskss 3", "did you mean '--tasks'?"),
            ("thread-brigade", "--kind proces", "did you mean 'process'?"),
            ("thread-brigade", "--tasks x", "'x'"),
            ("async-mem-brigade", "--placement spread", "--placement spread"),
            ("thread-creation", "--trace file", "--trace"),
            ("thread-brigade", "--help", "measures nothing"),
        ] {
            let found = refused(program, flags).unwrap_or_default();
            assert!(found.contains(reason), "{program} {flags}: {found}");
        }
        for (program, flags) in [
            ("thread-brigade", "--tasks 4000000000 --placement spread --trace file"),
            ("python-brigade", "--no-flag-of-it"),
        ] {
            assert_eq!(refused(program, flags), None, "{program} {flags}");
        }
    }

    #[test]
    fn the_help_of_every_program_has_two_examples_that_it_accepts() {
        for page in PAGES {
            let command = (page.command)();
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            assert_eq!((lines.len(), lines[0]), (3, "Examples:"), "{}: {help}", page.name);
            for line in &lines[1..] {
                assert!(line.len() <= 80, "{line}");
                let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                assert_eq!(words[..2], ["brigade", page.name], "{line}");
                assert_eq!(refusal(page.name, &words[2..]), None, "{line}");
            }
        }
    }

    #[test]
    fn defaults_are_those_of_the_command_line() {
        let defaults = defaults("rings");
        let of = |name| defaults.get(name).map(String::as_str);
        assert_eq!(
            ["tasks", "rings", "runtime"].map(of),
            [Some("100"), Some("4"), Some("threads")]
        );
        assert_eq!(["workers", "max_time", "help"].map(of), [None; 3]);
        let defaults = super::defaults("channel-load");
        assert_eq!(defaults.get("capacity").map(String::as_str), Some("64"));
    }
}
