//! The programs that this binary contains. Each runs as a separate process: `brigade` starts itself
//! under the program's name, or with that name as the first word.

use std::env;
use std::ffi::{CString, OsStr};
use std::path::Path;
use std::process::ExitCode;

use nix::sys::prctl;

/// Runs a program with this process's command line.
type Main = fn() -> ExitCode;

/// Each program's name, entry point and source.
const PROGRAMS: &[(&str, Main, &str)] = &[
    ("async-brigade", async_brigade::main, async_brigade::PAGE),
    ("async-creation", async_creation::main, async_creation::PAGE),
    ("async-mem-brigade", async_mem_brigade::main, async_mem_brigade::PAGE),
    ("blocking-crossing", blocking_crossing::main, blocking_crossing::PAGE),
    ("coroutine-brigade", coroutine_brigade::main, coroutine_brigade::PAGE),
    ("echo-server", echo_server::main, echo_server::PAGE),
    ("event-loop-brigade", event_loop_brigade::main, event_loop_brigade::PAGE),
    ("executor-ring", executor_ring::main, executor_ring::PAGE),
    ("lock-hand-over", lock_hand_over::main, lock_hand_over::PAGE),
    ("one-thread-brigade", one_thread_brigade::main, one_thread_brigade::PAGE),
    ("process-creation", process_creation::main, process_creation::PAGE),
    ("rings", rings::main, rings::PAGE),
    ("task-memory", task_memory::main, task_memory::PAGE),
    ("thread-brigade", thread_brigade::main, thread_brigade::PAGE),
    ("thread-creation", thread_creation::main, thread_creation::PAGE),
    ("thread-switch", thread_switch::main, thread_switch::PAGE),
    ("wake-latency", wake_latency::main, wake_latency::PAGE),
    ("yield-cost", yield_cost::main, yield_cost::PAGE),
];

/// The names of all programs.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|(name, ..)| *name)
}

/// Runs a program if this process was started under its name.
pub fn run() -> Option<ExitCode> {
    let mut words = env::args_os();
    let first = words.next()?;
    let called = |word: &OsStr| PROGRAMS.iter().find(|(name, ..)| word == *name);
    let (name, main, _) = Path::new(&first)
        .file_name()
        .and_then(called)
        .or_else(|| words.next().as_deref().and_then(called))?;
    // Only for `ps` and `top`, which would show `brigade` or `exe`.
    let _ = CString::new(*name).map(|name| prctl::set_name(&name));
    Some(main())
}

/// The source of program `name`; it begins with the program's documentation.
pub fn page(name: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|(known, ..)| *known == name).map(|(.., page)| *page)
}
