//! The mechanisms to launch a task that ends at once, and to join it.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::ptr;
use std::thread::{self, JoinHandle};

use anyhow::Context as _;
use harness::failure;
use harness::threads::{self, outcome_of_process};
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::unistd::Pid;

/// The program that `posix-spawn` executes: the smallest one on every system.
const PROGRAM: &CStr = c"/bin/true";

/// The stack of a child that shares its parent's memory, in 16-byte units, the
/// alignment of the x86-64 and AArch64 calling conventions. The child needs a
/// few hundred bytes, and a signal handler some more.
const STACK_UNITS: usize = (64 << 10) / size_of::<u128>();

/// Values of `--via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Via {
    /// A copy of the process, which shares its pages until one side writes
    Fork,
    /// A child that borrows its parent's memory; the parent waits for it to end
    Vfork,
    /// The C library's `posix_spawn` of /bin/true, including its exec
    PosixSpawn,
    /// A process that shares its parent's memory, both running
    CloneVm,
    /// A thread
    Thread,
}

/// Launches tasks by one mechanism, and owns their stacks if they need any.
pub struct Launcher {
    via: Via,
    stacks: Vec<Box<[u128]>>,
    attributes: PosixSpawnAttr,
    actions: PosixSpawnFileActions,
}

/// A launched task, to be joined.
pub enum Launched {
    /// A child process.
    Process(Pid),
    Thread(JoinHandle<()>),
}

impl Launcher {
    /// A launcher for up to `tasks` tasks at a time.
    pub fn new(via: Via, tasks: usize) -> anyhow::Result<Self> {
        let stacks = if matches!(via, Via::Vfork | Via::CloneVm) { tasks } else { 0 };
        Ok(Self {
            via,
            stacks: (0..stacks).map(|_| vec![0; STACK_UNITS].into()).collect(),
            attributes: PosixSpawnAttr::init().context("setting up posix_spawn")?,
            actions: PosixSpawnFileActions::init().context("setting up posix_spawn")?,
        })
    }

    /// Launches a task, number `task` among those alive.
    pub fn launch(&mut self, task: usize) -> anyhow::Result<Launched> {
        let launched = match self.via {
            Via::Fork => fork().map(Launched::Process),
            Via::Vfork | Via::CloneVm => {
                let waits = if self.via == Via::Vfork { libc::CLONE_VFORK } else { 0 };
                clone(&mut self.stacks[task], libc::CLONE_VM | waits).map(Launched::Process)
            }
            Via::PosixSpawn => {
                let none: [&CStr; 0] = [];
                let spawned =
                    posix_spawn(PROGRAM, &self.actions, &self.attributes, &[PROGRAM], &none);
                spawned.map(Launched::Process).map_err(io::Error::from)
            }
            Via::Thread => thread::Builder::new().spawn(|| ()).map(Launched::Thread),
        };
        launched.map_err(failure::to_create(format_args!("task {task}")))
    }
}

impl Launched {
    /// Waits for the task's end.
    pub fn join(self, task: usize) -> anyhow::Result<()> {
        match self {
            Self::Process(pid) => outcome_of_process(pid).map_err(|error| error.of_task(task)),
            Self::Thread(thread) => threads::join(task, thread),
        }
    }
}

fn fork() -> io::Result<Pid> {
    // SAFETY: the child only calls `_exit`, which is async-signal-safe and so
    // allowed whatever threads the parent has.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: as above; `_exit` runs no destructor and flushes no buffer.
        unsafe { libc::_exit(0) };
    }
    Ok(Pid::from_raw(Errno::result(pid)?))
}

/// Launches a child that shares this process's memory. Rust cannot call
/// `vfork`, which returns twice on one stack: the child's calls would overwrite
/// the frames that the parent returns to. So the child gets a separate stack,
/// as in the C library's `posix_spawn`.
fn clone(stack: &mut [u128], sharing: c_int) -> io::Result<Pid> {
    let top = stack.as_mut_ptr_range().end.cast::<c_void>();
    // SAFETY: `top` is the aligned end of a block that nobody else uses, and
    // that outlives the child: the launcher keeps it until after the join.
    // `child` touches no memory but that stack and never returns.
    let pid = unsafe { libc::clone(child, top, sharing | libc::SIGCHLD, ptr::null_mut()) };
    Ok(Pid::from_raw(Errno::result(pid)?))
}

/// The main function of a child that shares its parent's memory.
extern "C" fn child(_: *mut c_void) -> c_int {
    // SAFETY: `_exit` ends this process alone and touches no shared memory.
    unsafe { libc::_exit(0) }
}
