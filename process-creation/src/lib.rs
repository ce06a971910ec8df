//! The cost of launching a process, until it is reaped, by mechanism and by the memory of its
//! parent.
//!
//! One iteration: launch N tasks (one by default) that end at once, then join them. `launch` is the
//! time until the last call returns in the parent; `join` the time from there until all are reaped.
//! Before that the parent touches `--resident-mib` of memory, whose page tables `fork` must copy.
//!
//! What is counted: one operation is one process or thread. CPU time and switches are the parent's
//! (`RUSAGE_SELF`): they include the copying by `fork`, but only children that are threads. The
//! scheduler chooses whether a child runs at the same time as its parent or after it, so no switch
//! is claimed.
//!
//! Known biases: `vfork` and `posix-spawn` return when the child has ended or called exec, so
//! `launch` includes one or two switches that are in `join` for the others. For `posix-spawn`,
//! which executes /bin/true, `launch` includes the exec and `join` the dynamic linking. `fork`
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
use harness::limits::{Kind, Need, require};
use harness::threads::{self, outcome_of_process};
use harness::{Bench, Launch, Measured, Spec, TaskKind, failure};
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::unistd::Pid;

/// The program that `posix-spawn` executes: the smallest one on every system.
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
struct Flags {
    /// Mechanism that launches the tasks
    #[arg(long, value_enum, default_value_t = Via::Fork)]
    via: Via,

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
    /// The C library's `posix_spawn` of /bin/true, including its exec
    PosixSpawn,
    /// A process that shares its parent's memory, both running
    CloneVm,
    /// A thread
    Thread,
}

const SPEC: Spec = Spec { tasks: 1, iters: 1000, ..Spec::new(TaskKind::Process, Kind::Process) };

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    if flags.via == Via::Thread {
        return Ok(Spec { kind: Some(TaskKind::Thread), needs: Kind::Thread, ..SPEC });
    }
    Ok(SPEC)
}

fn run(&Flags { via, resident_mib }: &Flags, bench: &Bench) -> anyhow::Result<()> {
    require(&Need::block(u64::from(resident_mib) << 20))?;
    let resident = vec![1_u8; (resident_mib as usize) << 20];
    let tasks = bench.tasks();
    let mut launcher = Launcher::new(via, tasks)?;
    let mut launched = Vec::with_capacity(tasks);

    let operation = if via == Via::Thread { "thread" } else { "process" };
    let phases = ["launch", "join"].map(|name| Measured::per_task(name, operation, tasks));
    for mut lap in bench.laps(&phases) {
        let short = (0..tasks).try_for_each(|task| {
            launched.push(launcher.launch(task)?);
            anyhow::Ok(())
        });
        lap.split();
        for (task, child) in launched.drain(..).enumerate() {
            child.join(task)?;
        }
        // Only after joining the launched ones: they use the stacks.
        short?;
        lap.finish();
    }
    let observed = bench.observe();
    drop(std::hint::black_box(resident));
    observed
}

/// Launches tasks by one mechanism, and owns their stacks if they need any.
struct Launcher {
    via: Via,
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
    fn new(via: Via, tasks: usize) -> anyhow::Result<Self> {
        let stacks = if matches!(via, Via::Vfork | Via::CloneVm) { tasks } else { 0 };
        Ok(Self {
            via,
            stacks: (0..stacks).map(|_| vec![0; STACK_UNITS].into()).collect(),
            attributes: PosixSpawnAttr::init().context("setting up posix_spawn")?,
            actions: PosixSpawnFileActions::init().context("setting up posix_spawn")?,
        })
    }

    /// Launches a task, number `task` among those alive.
    fn launch(&mut self, task: usize) -> anyhow::Result<Launched> {
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
    fn join(self, task: usize) -> anyhow::Result<()> {
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
