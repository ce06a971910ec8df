//! The cost of launching a process, until it is reaped, by mechanism and by the memory of its
//! parent.
//!
//! One iteration: launch N tasks (one by default) that end at once, or with `--exec` execute
//! /bin/true, then join them. `launch` is the time until the last call returns in the parent; `join`
//! the time from there until all are reaped. `posix_spawn` always executes a program: compare it with
//! the others under `--exec`. Before that the parent touches `--resident-mib` of memory, whose page tables `fork` must copy.
//!
//! What is counted: one operation is one process or thread. CPU time and switches are the parent's
//! (`RUSAGE_SELF`): they include the copying by `fork`, but only children that are threads. The
//! scheduler chooses whether a child runs at the same time as its parent or after it, so no switch
//! is claimed.
//!
//! Known biases: `vfork` and `posix-spawn` return when the child has ended or called exec, so
//! `launch` includes one or two switches that are in `join` for the others. With `--exec` their
//! `launch` includes the exec, and `join` the dynamic linking. `fork`
//! copies the parent's page tables, whose size is in the summary: in `brigade` there are about 60
//! more pages of relocated tables than in a separate binary, and a fork takes 5 % longer. After a
//! `fork` the parent takes a page fault for every page that it writes; here it writes none of the
//! resident ones. If huge pages are always on, the resident memory has fewer page tables to copy.
//! Threads reuse the stacks of joined ones.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::ptr;
use std::thread::{self, JoinHandle};

use anyhow::Context as _;
use harness::failure::{Refusal, UsageError};
use harness::limits::{Kind, Need, require};
use harness::threads::{self, outcome_of_process};
use harness::{Bench, Launch, Measured, Spec, TaskKind, failure};
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::unistd::Pid;

/// The program to execute: the smallest one on every system.
const PROGRAM: &CStr = c"/bin/true";

/// The stack of a child that shares its parent's memory, in 16-byte units, the
/// alignment of the x86-64 and AArch64 calling conventions. The child needs a
/// few hundred bytes, and a signal handler some more.
const STACK_UNITS: usize = (64 << 10) / size_of::<u128>();

/// Time launching and joining processes.
///
/// One iteration: launch N processes or threads that end at once, then join
/// them. One operation is one of them. `launch` is the time until the call
/// returns in the parent, `join` the time until the last one is reaped.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade process-creation --via vfork --exec
  brigade process-creation --via fork --resident-mib 64")]
struct Flags {
    /// Mechanism that launches the tasks
    #[arg(long, value_enum, default_value_t = Via::Fork)]
    via: Via,

    /// The processes execute /bin/true; otherwise they only end
    #[arg(long)]
    exec: bool,

    /// Memory that the parent touches first, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=1 << 20))]
    resident_mib: u32,
}

/// Values of `--via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Via {
    /// A copy of the process, which shares its pages until one side writes
    Fork,
    /// A child that borrows its parent's memory; the parent waits for it to end
    Vfork,
    /// The C library's `posix_spawn`; needs --exec
    PosixSpawn,
    /// A process that shares its parent's memory, both running
    CloneVm,
    /// A thread
    Thread,
}

const SPEC: Spec = Spec { tasks: 1, iters: 1000, ..Spec::new(TaskKind::Process, Kind::Process) };

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let refused = match (flags.via, flags.exec) {
        (Via::PosixSpawn, false) => Some("--via posix-spawn executes a program: add --exec"),
        (Via::Thread, true) => Some("--exec: a thread executes no program; choose another --via"),
        _ => None,
    };
    if let Some(reason) = refused {
        return Err(UsageError(reason.to_owned()).into());
    }
    if flags.via == Via::Thread {
        return Ok(Spec { kind: Some(TaskKind::Thread), needs: Kind::Thread, ..SPEC });
    }
    Ok(SPEC)
}

fn run(&Flags { via, exec, resident_mib }: &Flags, bench: &Bench) -> anyhow::Result<()> {
    require(&Need::block(u64::from(resident_mib) << 20))?;
    let resident = vec![1_u8; (resident_mib as usize) << 20];
    let tasks = bench.tasks();
    let mut launcher = Launcher::new(via, exec, tasks)?;
    let mut launched = Vec::with_capacity(tasks);

    let operation = if via == Via::Thread { "thread" } else { "process" };
    let phases = ["launch", "join"].map(|name| Measured::per_task(name, operation, tasks));
    for mut lap in bench.laps(&phases) {
        let short = (0..tasks).try_for_each(|task| {
            launched.push(launcher.launch(task)?);
            anyhow::Ok(())
        });
        lap.split();
        let joined = join_all(launched.drain(..));
        short.and(joined)?;
        lap.finish();
    }
    let observed = bench.observe();
    drop(std::hint::black_box(resident));
    observed
}

/// Waits for the end of tasks 0, 1, …: of all, even if one fails, since they use the launcher's
/// stacks.
///
/// # Errors
/// That of the first task that failed.
fn join_all(tasks: impl Iterator<Item = Launched>) -> anyhow::Result<()> {
    let mut joined = Ok(());
    for (number, task) in tasks.enumerate() {
        let outcome = task.join(number);
        joined = joined.and(outcome);
    }
    joined
}

/// Launches tasks by one mechanism, and owns their stacks if they need any.
struct Launcher {
    via: Via,
    exec: bool,
    stacks: Vec<Box<[u128]>>,
    attributes: PosixSpawnAttr,
    actions: PosixSpawnFileActions,
}

/// A launched task, to be joined.
enum Launched {
    /// A child process.
    Process(Pid),
    Thread(JoinHandle<()>),
}

impl Launcher {
    /// A launcher for up to `tasks` tasks at a time.
    fn new(via: Via, exec: bool, tasks: usize) -> anyhow::Result<Self> {
        let stacks = if matches!(via, Via::Vfork | Via::CloneVm) { tasks } else { 0 };
        Ok(Self {
            via,
            exec,
            stacks: (0..stacks).map(|_| vec![0; STACK_UNITS].into()).collect(),
            attributes: PosixSpawnAttr::init().context("setting up posix_spawn")?,
            actions: PosixSpawnFileActions::init().context("setting up posix_spawn")?,
        })
    }

    /// Launches a task, number `task` among those alive.
    fn launch(&mut self, task: usize) -> anyhow::Result<Launched> {
        let launched = match self.via {
            Via::Fork => fork(self.exec).map(Launched::Process),
            Via::Vfork | Via::CloneVm => {
                let waits = if self.via == Via::Vfork { libc::CLONE_VFORK } else { 0 };
                let flags = libc::CLONE_VM | waits;
                clone(&mut self.stacks[task], flags, &self.exec).map(Launched::Process)
            }
            Via::PosixSpawn => {
                let none: [&CStr; 0] = [];
                let spawned =
                    posix_spawn(PROGRAM, &self.actions, &self.attributes, &[PROGRAM], &none);
                spawned.map(Launched::Process).map_err(io::Error::from)
            }
            Via::Thread => thread::Builder::new().spawn(|| ()).map(Launched::Thread),
        };
        launched.map_err(|cause| {
            if self.via == Via::CloneVm && is_refused(&cause) {
                let reason =
                    format!("--via clone-vm is refused here: {cause}; choose another --via");
                return Refusal(reason).into();
            }
            failure::to_create(format_args!("task {task}"))(cause)
        })
    }
}

impl Launched {
    /// Waits for the task's end.
    fn join(self, task: usize) -> anyhow::Result<()> {
        match self {
            Self::Process(pid) => outcome_of_process(pid).map_err(|error| error.of_task(task)),
            Self::Thread(thread) => threads::join(task, thread),
        }
    }
}

/// Whether a filter of system calls, a sandbox or an emulator such as qemu-user forbids the call,
/// however few tasks there are.
fn is_refused(cause: &io::Error) -> bool {
    let errno = cause.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EINVAL | Errno::ENOSYS | Errno::EPERM))
}

fn fork(exec: bool) -> io::Result<Pid> {
    // SAFETY: the child only calls `execve` and `_exit`, which are async-signal-safe and so
    // allowed whatever threads the parent has.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        end_child(exec);
    }
    Ok(Pid::from_raw(Errno::result(pid)?))
}

/// Ends a child, by executing the program if `exec` is set; a failure of that is its exit code.
fn end_child(exec: bool) -> ! {
    if !exec {
        // SAFETY: `_exit` ends this process alone, runs no destructor and flushes no buffer.
        unsafe { libc::_exit(0) };
    }
    let arguments = [PROGRAM.as_ptr(), ptr::null()];
    // SAFETY: both arrays end with a null pointer. It does not return if it succeeds.
    unsafe { libc::execve(PROGRAM.as_ptr(), arguments.as_ptr(), arguments[1..].as_ptr()) };
    // SAFETY: as above.
    unsafe { libc::_exit(Errno::last_raw()) }
}

/// Launches a child that shares this process's memory. Rust cannot call
/// `vfork`, which returns twice on one stack: the child's calls would overwrite
/// the frames that the parent returns to. So the child gets a separate stack,
/// as in the C library's `posix_spawn`.
fn clone(stack: &mut [u128], sharing: c_int, exec: &bool) -> io::Result<Pid> {
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    let exec = ptr::from_ref(exec).cast_mut().cast::<c_void>();
    // SAFETY: `top` is the aligned end of a block that nobody else uses, and
    // that outlives the child: the launcher keeps it until after the join, and `exec`, too.
    // `child` writes no memory but that stack and never returns.
    let pid = unsafe { libc::clone(child, top, sharing | libc::SIGCHLD, exec) };
    Ok(Pid::from_raw(Errno::result(pid)?))
}

/// The main function of a child that shares its parent's memory.
extern "C" fn child(exec: *mut c_void) -> c_int {
    // SAFETY: it points to a `bool` that outlives the child, and that nobody writes.
    end_child(unsafe { *exec.cast::<bool>() })
}

#[cfg(test)]
mod tests {
    use nix::sys::wait::waitpid;

    use super::*;

    #[test]
    fn the_tasks_after_a_failed_one_are_joined() {
        let child = fork(false).expect("a child");
        let unknown = Pid::from_raw(i32::MAX);
        let tasks = [unknown, child, unknown].map(Launched::Process);
        let error = join_all(tasks.into_iter()).expect_err("two are no children");
        assert!(error.to_string().starts_with("task 0 "), "{error}");
        assert_eq!(waitpid(child, None), Err(Errno::ECHILD));
    }
}
