//! The programs that this binary contains. Each is a process of its own: `brigade` runs it
//! under the program's name, or by that name as the first word.

use std::env;
use std::ffi::{CString, OsStr};
use std::path::Path;
use std::process::ExitCode;

use nix::sys::prctl;

/// A program that this binary contains.
struct Contained {
    name: &'static str,
    /// Runs it with the command line of this process.
    main: fn() -> ExitCode,
    /// Its source.
    page: &'static str,
}

/// The table of programs, of their names and libraries.
macro_rules! programs {
    ($($name:literal $library:ident,)*) => {
        [$(Contained { name: $name, main: $library::main, page: $library::PAGE }),*]
    };
}

/// Every program.
const PROGRAMS: [Contained; 16] = programs![
    "async-brigade" async_brigade,
    "async-creation" async_creation,
    "async-mem-brigade" async_mem_brigade,
    "blocking-crossing" blocking_crossing,
    "coroutine-brigade" coroutine_brigade,
    "event-loop-brigade" event_loop_brigade,
    "executor-ring" executor_ring,
    "one-thread-brigade" one_thread_brigade,
    "process-creation" process_creation,
    "rings" rings,
    "task-memory" task_memory,
    "thread-brigade" thread_brigade,
    "thread-creation" thread_creation,
    "thread-switch" thread_switch,
    "wake-latency" wake_latency,
    "yield-cost" yield_cost,
];

/// The names of all programs.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.name)
}

/// Runs the program that this process was started as, if it was.
pub fn run() -> Option<ExitCode> {
    let mut words = env::args_os();
    let first = words.next()?;
    let called = |word: &OsStr| PROGRAMS.iter().find(|program| word == program.name);
    let program = Path::new(&first)
        .file_name()
        .and_then(called)
        .or_else(|| words.next().as_deref().and_then(called))?;
    // What `ps` and `top` show is otherwise `brigade`, or `exe`. Figures do not depend on it.
    let _ = CString::new(program.name).map(|name| prctl::set_name(&name));
    Some((program.main)())
}

/// The source of program `name`, which begins with its documentation.
pub fn page(name: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|program| program.name == name).map(|program| program.page)
}
