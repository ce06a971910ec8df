//! The needs of tasks: a row for each kind of task and of channel.
//!
//! The constants are facts about Linux, glibc and the standard library; tests of `task-memory`
//! measure each of them from outside, on many tasks.

use std::fmt;
use std::sync::LazyLock;

use clap::ValueEnum;
use nix::unistd::{SysconfVar, sysconf};
use serde::{Deserialize, Serialize};

use crate::system_files::page_size;

/// The standard library's default stack of a thread, in bytes.
const STANDARD_STACK_BYTES: u64 = 2 << 20;
/// Arenas per CPU that glibc's allocator creates for threads (`M_ARENA_MAX` of
/// mallopt(3), on 64 bits).
const ARENAS_PER_CPU: u64 = 8;
/// Memory maps of an arena: its used and its reserved part.
const MAPS_PER_ARENA: u64 = 2;
/// Address space reserved for an arena, in bytes (`HEAP_MAX_SIZE` of glibc, on
/// 64 bits).
const ADDRESS_SPACE_PER_ARENA: u64 = 64 << 20;
/// Memory maps of the few blocks that the allocator maps separately.
const MAPS_OF_LARGE_BLOCKS: u64 = 8;
/// Pages that the kernel counts for a pipe of a user above the soft limit
/// (`PIPE_MIN_DEF_BUFFERS`, since Linux 5.14); below it, 16.
pub const PAGES_PER_PIPE: u64 = 2;
/// Entries in the submission queue of the ring in a need.
pub const RING_ENTRIES: u32 = 64;
/// Entries of compio's queue.
const COMPIO_ENTRIES: u32 = 1024;
/// Files of an async runtime: two handles of its `epoll` and the `eventfd` that wakes it.
pub(crate) const FILES_PER_RUNTIME: u64 = 3;
/// The default stack of a thread or coroutine, in bytes.
pub const STACK_BYTES: u64 = 1 << 20;

/// A resource that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Open file descriptors.
    Files,
    /// Threads, also called tasks and pids in the kernel.
    Threads,
    /// Memory maps of the process.
    Maps,
    /// Bytes of memory, user and kernel.
    Memory,
    /// Bytes of address space.
    AddressSpace,
    /// Bytes of writable private maps.
    CommittedMemory,
    /// Bytes of memory that cannot be swapped out.
    LockedMemory,
    /// Pages that the buffers of pipes may fill.
    PipePages,
    /// Files in an epoll instance.
    EpollWatches,
    /// Rings of io_uring.
    Rings,
}

impl Resource {
    /// Its unit in the plural, and its amount in amounts.
    fn row(self) -> (&'static str, fn(&Amounts) -> u64) {
        match self {
            Self::Files => ("open files", |of| of.files),
            Self::Threads => ("threads", |of| of.threads),
            Self::Maps => ("memory maps", |of| of.maps),
            Self::Memory => ("bytes of memory", |of| of.user_bytes.saturating_add(of.kernel_bytes)),
            Self::AddressSpace => ("bytes of address space", |of| of.address_space_bytes),
            Self::CommittedMemory => ("bytes of committed memory", |of| of.committed_bytes),
            Self::LockedMemory => ("bytes of locked memory", |of| of.locked_bytes),
            Self::PipePages => ("pages of pipes", |of| of.pipe_pages),
            Self::EpollWatches => ("epoll watches", |of| of.epoll_watches),
            Self::Rings => ("io_uring rings", |of| of.rings),
        }
    }

    /// Whether its unit is bytes.
    pub fn is_bytes(self) -> bool {
        self.row().0.starts_with("bytes")
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.row().0)
    }
}

/// Declares [`Amounts`] with each field listed once.
macro_rules! amounts {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Amounts of each resource.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
        pub struct Amounts {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Amounts {
            /// Nothing.
            pub const NONE: Self = Self { $($field: 0,)* };

            /// The sum of this and `other`.
            pub fn and(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field,)* }
            }
        }
    };
}

amounts! {
    /// Open file descriptors.
    files,
    /// Threads, and thus pids.
    threads,
    /// Memory maps.
    maps,
    /// Memory in user space, in bytes.
    user_bytes,
    /// Memory in the kernel, in bytes.
    kernel_bytes,
    /// Address space, in bytes.
    address_space_bytes,
    /// Writable private maps, in bytes.
    committed_bytes,
    /// Memory charged as locked, in bytes.
    locked_bytes,
    /// Pages of pipes, as counted above the soft limit.
    pipe_pages,
    /// Files in an epoll instance.
    epoll_watches,
    /// Rings of io_uring.
    rings,
}

impl Amounts {
    /// A blocked thread with a stack of `stack_bytes`.
    pub fn thread(stack_bytes: u64) -> Self {
        Self::thread_of_pages(stack_bytes, page_bytes())
    }

    fn thread_of_pages(stack_bytes: u64, page_bytes: u64) -> Self {
        // The alternate signal stack: the size of the CPU's registers plus `SIGSTKSZ`.
        let signal_stack_bytes = (12_u64 << 10).next_multiple_of(page_bytes);
        // A guard page lies below the stack, another below that of signals.
        let besides_stack = signal_stack_bytes + 2 * page_bytes;
        Self {
            threads: 1,
            // Under glibc: the two stacks and their guards.
            maps: 4,
            // Blocking touches both stacks.
            user_bytes: 5 * page_bytes / 2,
            // A stack (one page if pages are larger), about 2 KiB of page tables, and 6 KiB of
            // other objects.
            kernel_bytes: page_bytes.max(16 << 10) + (8 << 10),
            ..Self::mapped(stack_bytes.saturating_add(besides_stack))
        }
    }

    /// An async task on two pipes, rounded up.
    pub fn async_task() -> Self {
        Self::heap(2 << 10)
    }

    /// Mapped memory that is written.
    fn mapped(bytes: u64) -> Self {
        Self { address_space_bytes: bytes, committed_bytes: bytes, ..Self::NONE }
    }

    /// Allocated memory that is written.
    pub fn heap(bytes: u64) -> Self {
        Self { user_bytes: bytes, ..Self::mapped(bytes) }
    }

    /// A suspended coroutine on a stack of `stack_bytes`.
    pub fn coroutine(stack_bytes: u64) -> Self {
        Self {
            // Its stack and the guard page below.
            maps: 2,
            // The top of its stack.
            user_bytes: page_bytes(),
            // Its maps and page tables.
            kernel_bytes: 5 << 10,
            address_space_bytes: stack_bytes.saturating_add(page_bytes()),
            committed_bytes: stack_bytes,
            ..Self::NONE
        }
    }

    /// A blocked process, a copy of this one; all but the thread is rounded up.
    pub fn process() -> Self {
        Self {
            threads: 1,
            // The pages written.
            user_bytes: 24 * page_bytes(),
            // Stack, page tables and other objects.
            kernel_bytes: 40 * page_bytes(),
            // The heap and data of a typical program.
            committed_bytes: 1 << 20,
            ..Self::NONE
        }
    }

    /// A channel of the standard library, or a slot with a futex or a condition variable, rounded
    /// up.
    pub fn channel_in_memory() -> Self {
        Self::heap(1 << 10)
    }

    /// A pipe.
    pub fn pipe() -> Self {
        Self { pipe_pages: PAGES_PER_PIPE, ..Self::socket_pair() }
    }

    /// A socket pair, with a page of data.
    pub fn socket_pair() -> Self {
        Self { files: 2, kernel_bytes: page_bytes() + (2 << 10), ..Self::NONE }
    }

    /// An eventfd, rounded up.
    pub fn eventfd() -> Self {
        Self { files: 1, kernel_bytes: 1 << 10, ..Self::NONE }
    }

    /// One end of a TCP connection without data: its socket, file, inode and directory entry, 3.9
    /// KiB of slab on Linux 6.18.
    pub fn connection() -> Self {
        Self { files: 1, kernel_bytes: 4 << 10, ..Self::NONE }
    }

    /// A ring of io_uring with [`RING_ENTRIES`] entries, mapped.
    pub fn ring() -> Self {
        Self::ring_of(RING_ENTRIES)
    }

    /// A waiting read in such a ring: the request and its wake-up, rounded up.
    pub fn ring_read() -> Self {
        Self { kernel_bytes: 512, ..Self::NONE }
    }

    /// For each 64 entries it locks a page of the two queues' heads and the completions, and one of
    /// submissions of 64 bytes. They are two maps.
    fn ring_of(entries: u32) -> Self {
        let locked_bytes = 2 * u64::from(entries / 64) * page_bytes();
        Self {
            files: 1,
            maps: 2,
            user_bytes: locked_bytes,
            // Other objects, rounded up.
            kernel_bytes: 4 << 10,
            address_space_bytes: locked_bytes,
            locked_bytes,
            rings: 1,
            ..Self::NONE
        }
    }

    /// A runtime of compio: a ring, and an eventfd that wakes it.
    pub fn compio() -> Self {
        Self::ring_of(COMPIO_ENTRIES).and(Self::eventfd())
    }

    /// The needs of observing the process while its tasks are alive: a command's standard input and
    /// output, temporarily; reading `/proc` takes one file.
    pub fn observation() -> Self {
        Self { files: 2, ..Self::NONE }
    }

    /// This many worker threads of an async runtime, including what the
    /// allocator maps for them.
    pub fn workers(count: u64) -> Self {
        let worker = Self::thread(STANDARD_STACK_BYTES);
        worker.times(count).and(worker.allocator(count))
    }

    /// This many of them.
    pub fn times(self, count: u64) -> Self {
        (0..count).fold(Self::NONE, |sum, _| sum.and(self))
    }

    /// What the allocator maps for this many tasks: for threads, their arenas. Each of the first
    /// threads gets one; the initial thread's, which counts as the first, grows with the heap and
    /// reserves nothing.
    pub fn allocator(self, tasks: u64) -> Self {
        self.allocator_of(arenas(), tasks)
    }

    fn allocator_of(self, arenas: u64, tasks: u64) -> Self {
        if self.threads == 0 || self.maps == 0 {
            return Self::NONE;
        }
        let reserving = (arenas - 1).min(self.threads.saturating_mul(tasks));
        Self {
            maps: (reserving + 1) * MAPS_PER_ARENA + MAPS_OF_LARGE_BLOCKS,
            address_space_bytes: reserving * ADDRESS_SPACE_PER_ARENA,
            ..Self::NONE
        }
    }

    /// The same with its files in an epoll instance.
    pub fn watched(self) -> Self {
        Self { epoll_watches: self.files, ..self }
    }

    /// The amount of one resource.
    pub fn of(self, resource: Resource) -> u64 {
        resource.row().1(&self)
    }
}

/// The most arenas that the allocator creates: later threads share them.
pub fn arenas() -> u64 {
    static ARENAS: LazyLock<u64> = LazyLock::new(|| {
        let cpus = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        cpus.and_then(|cpus| u64::try_from(cpus).ok()).unwrap_or(1) * ARENAS_PER_CPU
    });
    *ARENAS
}

fn page_bytes() -> u64 {
    page_size().unwrap_or(4 << 10)
}

/// A kind of task, with the channels between the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Threads that share nothing
    Thread,
    /// Threads with a futex, condition variable or channel in memory each
    ThreadFutex,
    /// Threads over eventfds
    ThreadEventfd,
    /// Threads over pipes
    ThreadPipe,
    /// Threads over socket pairs
    ThreadSocketpair,
    /// Threads with a TCP connection each, to another machine
    ThreadTcp,
    /// Tokio tasks that wait for nothing
    Tokio,
    /// Tokio tasks over channels in memory
    TokioChannel,
    /// Tokio tasks over pipes
    TokioPipe,
    /// Tokio tasks with a TCP connection each, to another machine
    TokioTcp,
    /// Tasks of async-executor that wait for nothing
    AsyncExecutor,
    /// Goroutines over channels
    Goroutine,
    /// Stackful coroutines
    Coroutine,
    /// Forked processes
    Process,
    /// Rings of io_uring
    IoUring,
}

impl Kind {
    /// Such tasks in the plural; the needs of one with a stack of this many bytes; and the channel
    /// that it reads from.
    fn row(self) -> (&'static str, fn(u64) -> Amounts, Amounts) {
        let none = Amounts::NONE;
        let thread: fn(u64) -> Amounts = Amounts::thread;
        let async_task: fn(u64) -> Amounts = |_| Amounts::async_task();
        // A stack of 2 KiB, 0.5 KiB for the scheduler, and a channel, rounded up.
        let goroutine = |_| Amounts::heap(3 << 10);
        let in_memory = Amounts::channel_in_memory();
        match self {
            Self::Thread => ("threads", thread, none),
            Self::ThreadFutex => ("threads over futexes or channels in memory", thread, in_memory),
            Self::ThreadEventfd => ("threads over eventfds", thread, Amounts::eventfd()),
            Self::ThreadPipe => ("threads over pipes", thread, Amounts::pipe()),
            Self::ThreadSocketpair => ("threads over socket pairs", thread, Amounts::socket_pair()),
            Self::ThreadTcp => ("threads with a TCP connection", thread, Amounts::connection()),
            Self::Tokio => ("tokio tasks", async_task, none),
            // The channel is part of the task's need.
            Self::TokioChannel => ("tokio tasks over channels", async_task, none),
            Self::TokioPipe => ("tokio tasks over pipes", async_task, Amounts::pipe().watched()),
            Self::TokioTcp => {
                ("tokio tasks with a TCP connection", async_task, Amounts::connection().watched())
            }
            Self::AsyncExecutor => ("async-executor tasks", async_task, none),
            Self::Goroutine => ("goroutines", goroutine, none),
            Self::Coroutine => ("coroutines", Amounts::coroutine, none),
            Self::Process => ("processes", |_| Amounts::process(), none),
            Self::IoUring => ("io_uring rings of 64 entries", |_| Amounts::ring(), none),
        }
    }

    /// The name of the tasks, in the plural.
    pub fn tasks(self) -> &'static str {
        self.row().0
    }

    /// Whether `task-memory` can create such tasks: it has no peer for a connection.
    pub fn can_be_made(self) -> bool {
        !matches!(self, Self::ThreadTcp | Self::TokioTcp)
    }

    /// The flags of `task-memory` that create such tasks.
    pub fn flags(self) -> Vec<String> {
        let (kind, waiting) = match self {
            Self::TokioChannel => (Self::Tokio, Some("--waiting=channel")),
            Self::TokioPipe => (Self::Tokio, Some("--waiting=pipe")),
            other => (other, None),
        };
        [format!("--kind={kind}")].into_iter().chain(waiting.map(str::to_owned)).collect()
    }

    /// The needs of one task, including the channel that it reads from.
    pub fn per_task(self) -> Amounts {
        self.per_task_with_stack(STACK_BYTES)
    }

    /// As [`Self::per_task`], with a stack of this many bytes if the program
    /// can choose its size.
    pub fn per_task_with_stack(self, stack_bytes: u64) -> Amounts {
        let (_, task, channel) = self.row();
        task(stack_bytes).and(channel)
    }

    /// Whether the program chooses the size of a task's stack.
    pub fn has_sized_stack(self) -> bool {
        self.per_task_with_stack(0) != self.per_task()
    }

    /// The other needs of a program with such tasks: the channel back to the
    /// driver, an async runtime on one thread, and files to observe itself.
    pub fn fixed(self) -> Amounts {
        let is_tokio = self.to_string().starts_with("tokio");
        let files = if is_tokio { FILES_PER_RUNTIME } else { 0 };
        self.row().2.and(Amounts { files, ..Amounts::NONE }).and(Amounts::observation())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&crate::flags::name(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_add_up_resource_by_resource() {
        let thread = Amounts::thread(1 << 20);
        let both = thread.and(Amounts::pipe().watched()).and(Amounts::ring());
        for &resource in Resource::value_variants() {
            let parts = [thread, Amounts::pipe().watched(), Amounts::ring()];
            let sum: u64 = parts.iter().map(|part| part.of(resource)).sum();
            assert_eq!(both.of(resource), sum, "{resource}");
            assert!(sum > 0, "{resource} is in none of them");
        }
    }

    #[test]
    fn guards_and_stacks_are_whole_pages() {
        let thread = |page_bytes| Amounts::thread_of_pages(1 << 20, page_bytes);
        let [small, large] = [4 << 10, 64 << 10].map(thread);
        assert_eq!(small.address_space_bytes, (1 << 20) + (20 << 10));
        assert_eq!(large.address_space_bytes, (1 << 20) + 3 * (64 << 10));
        assert_eq!((small.kernel_bytes, large.kernel_bytes), (24 << 10, 72 << 10));
        assert_eq!(large.user_bytes, 16 * small.user_bytes);
    }

    #[test]
    fn the_first_threads_get_an_arena_each_and_later_ones_share_them() {
        let thread = Amounts::thread(1 << 20);
        let of = |threads| thread.allocator_of(128, threads);
        assert_eq!(of(20).address_space_bytes, 20 * ADDRESS_SPACE_PER_ARENA);
        assert_eq!(of(20).maps, 21 * MAPS_PER_ARENA + MAPS_OF_LARGE_BLOCKS);
        assert_eq!(of(127), of(u64::MAX));
        assert_eq!(Amounts::process().allocator_of(128, 20), Amounts::NONE);
    }
}
