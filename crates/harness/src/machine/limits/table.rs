//! The kinds of tasks with their needs: facts about Linux, glibc and the standard library. Tests of
//! `task-memory` measure each of them from outside, on many tasks.

use std::array;
use std::ops::Add;

use clap::ValueEnum;
use nix::unistd::SysconfVar;
use serde::{Deserialize, Serialize};

use super::machine::{RESOURCES, Resource};
use crate::machine::system_files::{page_size, system_constant};

use Resource::{
    AddressSpace, Data, EpollWatches, Files, LockedMemory, Maps, Memory, Rings, Signals, Threads,
};

/// Entries in the submission queue of the ring in a need.
pub const RING_ENTRIES: u32 = 64;
/// Entries of compio's queue.
const COMPIO_ENTRIES: u32 = 1024;
/// The default stack of a thread or coroutine, in bytes.
pub const STACK_BYTES: u64 = 1 << 20;
/// Arenas per CPU that glibc's allocator creates for threads (`M_ARENA_MAX` of mallopt(3)).
const ARENAS_PER_CPU: u64 = 8;
/// Memory maps of an arena: its used and its reserved part.
const MAPS_PER_ARENA: u64 = 2;
/// Address space reserved for an arena, in bytes (`HEAP_MAX_SIZE` of glibc, on 64 bits).
const BYTES_PER_ARENA: u64 = 64 << 20;
/// The part of an arena that may be written at first: a heap's header and `M_TOP_PAD`, in whole pages.
const DATA_PER_ARENA: u64 = 132 << 10;
/// Memory maps of the few blocks that the allocator maps separately.
const MAPS_OF_LARGE_BLOCKS: u64 = 8;
/// A block of at least so many bytes gets a map of its own (`M_MMAP_THRESHOLD`).
const LARGE_BLOCK_BYTES: u64 = 128 << 10;

/// How much of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts([u64; RESOURCES]);

impl Amounts {
    pub(super) fn new<const N: usize>(amounts: [(Resource, u64); N]) -> Self {
        amounts.into_iter().fold(Self::default(), |mut all, (resource, amount)| {
            all.0[resource as usize] = amount;
            all
        })
    }

    /// The amount of one resource.
    pub fn amount(self, resource: Resource) -> u64 {
        self.0[resource as usize]
    }

    /// Whether these are the needs of a thread: a process has its own maps.
    pub(super) fn is_thread(self) -> bool {
        self.amount(Threads) > 0 && self.amount(Maps) > 0
    }

    /// This many times these amounts.
    pub(super) fn times(self, count: u64) -> Self {
        Self(self.0.map(|amount| amount.saturating_mul(count)))
    }

    /// These amounts, with the files in an epoll instance.
    fn watched(self) -> Self {
        self + Self::new([(EpollWatches, self.amount(Files))])
    }

    /// Allocated memory that is written.
    pub(super) fn heap(bytes: u64) -> Self {
        let maps = bytes / LARGE_BLOCK_BYTES;
        Self::new([(Memory, bytes), (AddressSpace, bytes), (Data, bytes), (Maps, maps)])
    }

    /// The stack of a task, of which little is written.
    pub(super) fn stack(bytes: u64) -> Self {
        Self::new([(AddressSpace, bytes), (Data, bytes)])
    }

    /// Open files with this much memory in the kernel.
    pub(super) fn files(count: u64, bytes: u64) -> Self {
        Self::new([(Files, count), (Memory, bytes)])
    }

    /// A blocked thread without its stack.
    pub(super) fn thread() -> Self {
        let page_bytes = page_size();
        // Half of the pages of both stacks, which blocking touches; in the kernel a stack (one page
        // if pages are larger), 2 KiB of page tables, and other objects: 5.8 to 7.8 KiB on recorded
        // machines, here rounded up to 9, since it is the most that threads need.
        let bytes = 5 * page_bytes / 2 + page_bytes.max(16 << 10) + (11 << 10);
        // The size of the CPU's registers plus `SIGSTKSZ`.
        let signal_stack = (12_u64 << 10).next_multiple_of(page_bytes);
        // Under glibc: the two stacks and their guards.
        let address_space = signal_stack + 2 * page_bytes;
        Self::new([
            (Threads, 1),
            (Maps, 4),
            (Memory, bytes),
            (AddressSpace, address_space),
            (Data, signal_stack),
        ])
    }

    /// A blocked process, a copy of this one, rounded up: 24 pages written; stack, page tables and
    /// other objects in the kernel.
    pub(super) fn process() -> Self {
        Self::new([(Threads, 1), (Memory, 64 * page_size())])
    }

    /// A ring of io_uring. For each 64 entries it locks a page of the two queues' heads and the
    /// completions, and one of submissions of 64 bytes. They are two maps.
    fn ring(entries: u32) -> Self {
        let locked = 2 * u64::from(entries / 64) * page_size();
        let mapped = Self::new([(Maps, 2), (AddressSpace, locked), (LockedMemory, locked)]);
        // Other objects, rounded up.
        mapped + Self::files(1, locked + (4 << 10)) + Self::new([(Rings, 1)])
    }

    /// What the allocator maps for this many threads: an arena for each of the first. The initial
    /// thread's, which counts as the first, grows with the heap and reserves nothing.
    pub(super) fn arenas(threads: u64) -> Self {
        if threads == 0 {
            return Self::default();
        }
        let reserving = threads.min(arenas() - 1);
        let maps = (reserving + 1) * MAPS_PER_ARENA + MAPS_OF_LARGE_BLOCKS;
        Self::new([
            (Maps, maps),
            (AddressSpace, reserving * BYTES_PER_ARENA),
            (Data, reserving * DATA_PER_ARENA),
        ])
    }
}

impl Add for Amounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(array::from_fn(|index| self.0[index].saturating_add(other.0[index])))
    }
}

/// The most arenas that the allocator creates: later threads share them.
pub fn arenas() -> u64 {
    system_constant(SysconfVar::_NPROCESSORS_ONLN) * ARENAS_PER_CPU
}

/// A kind of task, with the channels between the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Threads
    Thread,
    /// Threads over futexes or channels in memory
    ThreadFutex,
    /// Threads over eventfds
    ThreadEventfd,
    /// Threads over pipes or socket pairs
    #[value(alias = "thread-socketpair")]
    ThreadPipe,
    /// Threads with a TCP connection each to another machine
    ThreadTcp,
    /// Tokio tasks
    Tokio,
    /// Tokio tasks over pipes or socket pairs
    TokioPipe,
    /// Tokio tasks with a TCP connection each to another machine
    TokioTcp,
    /// Tokio tasks with a blocked thread each
    TokioBlocking,
    /// Tasks of async-executor or LocalPool
    AsyncExecutor,
    /// Tasks of async-executor over pipes or socket pairs
    AsyncExecutorPipe,
    /// Tasks of compio
    Compio,
    /// Tasks of compio over pipes or socket pairs
    CompioPipe,
    /// States of an epoll loop over pipes or socket pairs
    EpollPipe,
    /// States of an io_uring loop over pipes or socket pairs
    IoUringPipe,
    /// Goroutines over channels
    Goroutine,
    /// Stackful coroutines
    Coroutine,
    /// Forked processes
    Process,
    /// Pipes or socket pairs, without tasks
    Pipe,
    /// io_uring rings of 64 entries
    IoUring,
    /// Timers with a file each (timerfd)
    Timerfd,
    /// POSIX timers
    PosixTimer,
}

/// The needs of tasks of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TaskNeeds {
    /// One task, without its stack.
    pub task: Amounts,
    /// The channel that a task reads from.
    pub channel: Amounts,
    /// What all tasks have together, such as a runtime.
    pub shared: Amounts,
}

impl Kind {
    /// The needs of such tasks.
    pub(super) fn needs(self) -> TaskNeeds {
        let none = TaskNeeds::default();
        let thread = Amounts::thread();
        // Each with its channel in memory, rounded up.
        let future = Amounts::heap(2 << 10);
        let goroutine = Amounts::heap(3 << 10);
        let state = Amounts::heap(512);
        let in_memory = Amounts::heap(1 << 10);
        let eventfd = Amounts::files(1, 1 << 10);
        // With a page of data.
        let pipe = Amounts::files(2, page_size() + (2 << 10));
        // An end without data: socket, file, inode and directory entry, 3.9 KiB on Linux 6.18.
        let connection = Amounts::files(1, 4 << 10);
        let ring = Amounts::ring(RING_ENTRIES);
        // Timer, file and directory entry, rounded up.
        let timerfd = Amounts::files(1, 1 << 10);
        // With the signal that it reserves.
        let posix_timer = Amounts::new([(Signals, 1), (Memory, 1 << 10)]);
        // The request of a waiting read and its wake-up, rounded up.
        let read = Amounts::new([(Memory, 512)]);
        // Two handles of an epoll and the eventfd that wakes it.
        let tokio = Amounts::files(3, 0);
        // Epoll, eventfd, timer and thread.
        let async_io = Amounts::files(3, 0) + thread;
        let compio = Amounts::ring(COMPIO_ENTRIES) + eventfd;
        // The stack's top, the stack and the guard page below; maps and page tables in the kernel.
        let coroutine = Amounts::new([
            (Maps, 2),
            (Memory, page_size() + (5 << 10)),
            (AddressSpace, page_size()),
        ]);
        match self {
            Self::Thread => TaskNeeds { task: thread, ..none },
            Self::ThreadFutex => TaskNeeds { task: thread, channel: in_memory, ..none },
            Self::ThreadEventfd => TaskNeeds { task: thread, channel: eventfd, ..none },
            Self::ThreadPipe => TaskNeeds { task: thread, channel: pipe, ..none },
            Self::ThreadTcp => TaskNeeds { task: thread, channel: connection, ..none },
            Self::Tokio => TaskNeeds { task: future, shared: tokio, ..none },
            Self::TokioPipe => TaskNeeds { task: future, channel: pipe.watched(), shared: tokio },
            Self::TokioTcp => {
                TaskNeeds { task: future, channel: connection.watched(), shared: tokio }
            }
            Self::TokioBlocking => TaskNeeds { task: future + thread, shared: tokio, ..none },
            Self::AsyncExecutor => TaskNeeds { task: future, ..none },
            Self::AsyncExecutorPipe => {
                TaskNeeds { task: future, channel: pipe.watched(), shared: async_io }
            }
            Self::Compio => TaskNeeds { task: future, shared: compio, ..none },
            Self::CompioPipe => TaskNeeds { task: future + read, channel: pipe, shared: compio },
            Self::EpollPipe => TaskNeeds { task: state, channel: pipe.watched(), shared: eventfd },
            Self::IoUringPipe => TaskNeeds { task: state + read, channel: pipe, shared: ring },
            Self::Goroutine => TaskNeeds { task: goroutine, ..none },
            Self::Coroutine => TaskNeeds { task: coroutine, ..none },
            Self::Process => TaskNeeds { task: Amounts::process(), shared: pipe, ..none },
            Self::Pipe => TaskNeeds { channel: pipe, ..none },
            Self::IoUring => TaskNeeds { task: ring, ..none },
            Self::Timerfd => TaskNeeds { task: timerfd, ..none },
            Self::PosixTimer => TaskNeeds { task: posix_timer, ..none },
        }
    }

    /// Whether each task has a stack of a size that the program chooses.
    pub fn has_sized_stack(self) -> bool {
        self == Self::Coroutine || self.needs().task.is_thread()
    }
}
