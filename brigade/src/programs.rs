//! The programs that this binary contains. Each is a process of its own: `brigade` runs it
//! under the program's name, or by that name as the first word.

use std::env;
use std::ffi::{CString, OsStr};
use std::path::Path;
use std::process::ExitCode;

use nix::sys::prctl;

/// What runs a program with the command line of this process.
type Main = fn() -> ExitCode;

/// Every program, by its name.
const PROGRAMS: [(&str, Main); 16] = [
    ("async-brigade", async_brigade::main),
    ("async-creation", async_creation::main),
    ("async-mem-brigade", async_mem_brigade::main),
    ("blocking-crossing", blocking_crossing::main),
    ("coroutine-brigade", coroutine_brigade::main),
    ("event-loop-brigade", event_loop_brigade::main),
    ("executor-ring", executor_ring::main),
    ("one-thread-brigade", one_thread_brigade::main),
    ("process-creation", process_creation::main),
    ("rings", rings::main),
    ("task-memory", task_memory::main),
    ("thread-brigade", thread_brigade::main),
    ("thread-creation", thread_creation::main),
    ("thread-switch", thread_switch::main),
    ("wake-latency", wake_latency::main),
    ("yield-cost", yield_cost::main),
];

/// The names of all programs.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|(name, _)| *name)
}

/// Runs the program that this process was started as, if it was.
pub fn run() -> Option<ExitCode> {
    let mut words = env::args_os();
    let first = words.next()?;
    let called = |word: &OsStr| PROGRAMS.iter().find(|(name, _)| word == *name);
    let (name, main) = Path::new(&first)
        .file_name()
        .and_then(called)
        .or_else(|| words.next().as_deref().and_then(called))?;
    // What `ps` and `top` show is otherwise `brigade`, or `exe`. Figures do not depend on it.
    let _ = CString::new(*name).map(|name| prctl::set_name(&name));
    Some(main())
}
