//! What tasks need of what is limited: a row for each kind of task and of channel.
//!
//! The constants are facts about Linux, glibc and the standard library; tests of
//! `task-memory` measure each of them on populations of tasks, seen from outside.

use std::fmt;
use std::sync::LazyLock;

use clap::ValueEnum;
use nix::unistd::{SysconfVar, sysconf};
use serde::{Deserialize, Serialize};

use crate::system_files::page_size;

/// Memory maps of a Rust thread under glibc: stack, its guard, alternate
/// signal stack, its guard.
const MAPS_PER_THREAD: u64 = 4;
/// Stack that the standard library gives a thread, in bytes, unless asked for
/// another.
const STANDARD_STACK_BYTES: u64 = 2 << 20;
/// Arenas that glibc's allocator makes for each CPU while threads are created
/// (`M_ARENA_MAX` of mallopt(3), on 64 bits).
const ARENAS_PER_CPU: u64 = 8;
/// Memory maps of an arena: what is in use of it, and what is reserved.
const MAPS_PER_ARENA: u64 = 2;
/// Address space that an arena reserves, in bytes (`HEAP_MAX_SIZE` of glibc, on
/// 64 bits).
const ADDRESS_SPACE_PER_ARENA: u64 = 64 << 20;
/// Memory maps of the few blocks that the allocator maps by themselves.
const MAPS_OF_LARGE_BLOCKS: u64 = 8;
/// Half pages that a thread that does nothing but block holds in user space, of
/// its stack and of its alternate signal stack.
const HALF_PAGES_PER_THREAD: u64 = 5;
/// The kernel's stack of a thread, in bytes; one page where pages are larger.
const KERNEL_STACK_BYTES: u64 = 16 << 10;
/// What the kernel holds for a thread besides, in bytes: about 2 KiB of page
/// tables and 6 KiB of other objects.
const KERNEL_BYTES_BESIDES_STACK: u64 = 8 << 10;
/// The alternate signal stack of a thread, in bytes, rounded up to pages: what
/// the CPU's registers may take, and `SIGSTKSZ`.
const SIGNAL_STACK_BYTES: u64 = 12 << 10;
/// Guard pages of a thread: one below its stack, one below that for signals.
const GUARDS_PER_THREAD: u64 = 2;
/// Memory that an async task on two pipes holds, in bytes, rounded up.
const BYTES_PER_ASYNC_TASK: u64 = 2 << 10;
/// Memory that a goroutine and its channel hold, in bytes, rounded up: a stack
/// of 2 KiB, 0.5 KiB of the scheduler's, a channel.
const BYTES_PER_GOROUTINE: u64 = 3 << 10;
/// Memory maps of a coroutine: its stack and the guard page below.
const MAPS_PER_COROUTINE: u64 = 2;
/// What the kernel holds for it, in bytes: its maps and page tables.
const KERNEL_BYTES_PER_COROUTINE: u64 = 5 << 10;
/// Pages that a forked process that does nothing but block holds in user space,
/// rounded up: those that were written.
const PAGES_PER_PROCESS: u64 = 24;
/// What it could come to write to, in bytes, rounded up: the heap and the data
/// of one of the programs here.
const COMMITTED_BYTES_PER_PROCESS: u64 = 1 << 20;
/// Pages that the kernel holds for it, rounded up: stack, page tables and other
/// objects.
const KERNEL_PAGES_PER_PROCESS: u64 = 40;
/// What the kernel holds for a pipe or a socket pair besides a page of data, in
/// bytes.
const KERNEL_BYTES_PER_CHANNEL: u64 = 2 << 10;
/// Memory of a channel of the standard library, or of a slot with a futex or a
/// condition variable, in bytes, rounded up.
const BYTES_PER_CHANNEL_IN_MEMORY: u64 = 1 << 10;
/// What the kernel holds for an eventfd, in bytes, rounded up.
const KERNEL_BYTES_PER_EVENTFD: u64 = 1 << 10;
/// Pages that the kernel counts for a pipe of a user who is over the soft
/// limit (`PIPE_MIN_DEF_BUFFERS`, since Linux 5.14); one below it takes 16.
pub const PAGES_PER_PIPE: u64 = 2;
/// Entries of the submission queue of the ring that a need is given for.
pub const RING_ENTRIES: u32 = 64;
/// Pages that such a ring locks: one of the two queues' heads and the
/// completions, and one of 64 submissions of 64 bytes.
const LOCKED_PAGES_PER_RING: u64 = 2;
/// Entries of the queue that compio asks for.
const COMPIO_ENTRIES: u32 = 1024;
/// What the kernel holds for such a ring besides, in bytes, rounded up.
const KERNEL_BYTES_PER_RING: u64 = 4 << 10;
/// Memory maps of a ring: the queues and the submissions.
const MAPS_PER_RING: u64 = 2;
/// Files that an async runtime opens: two handles of its `epoll` and the `eventfd` that
/// wakes it.
pub(crate) const FILES_PER_RUNTIME: u64 = 3;
/// The stack of a thread or coroutine, in bytes, unless `--stack-size` says otherwise.
pub const STACK_BYTES: u64 = 1 << 20;
/// Files that a program holds for a moment to start a command: the shell's
/// standard input and output. Looking at itself in `/proc` takes one.
const FILES_TO_OBSERVE: u64 = 2;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Open file descriptors.
    Files,
    /// Threads, which the kernel also calls tasks and pids.
    Threads,
    /// Memory maps of the process.
    Maps,
    /// Bytes of memory, user and kernel.
    Memory,
    /// Bytes of address space.
    AddressSpace,
    /// Bytes that writable private maps could come to hold.
    CommittedMemory,
    /// Bytes of memory that cannot be swapped out.
    LockedMemory,
    /// Pages that the buffers of pipes may come to hold.
    PipePages,
    /// Files that an epoll instance watches.
    EpollWatches,
    /// Rings of io_uring.
    Rings,
}

impl Resource {
    /// Whether amounts of it are bytes.
    pub fn is_bytes(self) -> bool {
        self.to_string().starts_with("bytes")
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Files => "open files",
            Self::Threads => "threads",
            Self::Maps => "memory maps",
            Self::Memory => "bytes of memory",
            Self::AddressSpace => "bytes of address space",
            Self::CommittedMemory => "bytes of committed memory",
            Self::LockedMemory => "bytes of locked memory",
            Self::PipePages => "pages of pipes",
            Self::EpollWatches => "epoll watches",
            Self::Rings => "io_uring rings",
        })
    }
}

/// Amounts of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Amounts {
    /// Open file descriptors.
    pub files: u64,
    /// Threads, and so pids.
    pub threads: u64,
    /// Memory maps.
    pub maps: u64,
    /// Memory in user space, in bytes.
    pub user_bytes: u64,
    /// Memory in the kernel, in bytes.
    pub kernel_bytes: u64,
    /// Address space, in bytes.
    pub address_space_bytes: u64,
    /// Writable private maps, in bytes.
    pub committed_bytes: u64,
    /// Memory that is charged as locked, in bytes.
    pub locked_bytes: u64,
    /// Pages of pipes, as counted over the soft limit.
    pub pipe_pages: u64,
    /// Files watched by an epoll instance.
    pub epoll_watches: u64,
    /// Rings of io_uring.
    pub rings: u64,
}

impl Amounts {
    /// Nothing.
    pub const NONE: Self = Self {
        files: 0,
        threads: 0,
        maps: 0,
        user_bytes: 0,
        kernel_bytes: 0,
        address_space_bytes: 0,
        committed_bytes: 0,
        locked_bytes: 0,
        pipe_pages: 0,
        epoll_watches: 0,
        rings: 0,
    };

    /// A thread that blocks, with a stack of `stack_bytes`.
    pub fn thread(stack_bytes: u64) -> Self {
        Self::thread_of_pages(stack_bytes, page_bytes())
    }

    fn thread_of_pages(stack_bytes: u64, page_bytes: u64) -> Self {
        let signal_stack_bytes = SIGNAL_STACK_BYTES.next_multiple_of(page_bytes);
        let besides_stack = signal_stack_bytes + GUARDS_PER_THREAD * page_bytes;
        Self {
            threads: 1,
            maps: MAPS_PER_THREAD,
            user_bytes: HALF_PAGES_PER_THREAD * page_bytes / 2,
            kernel_bytes: KERNEL_STACK_BYTES.max(page_bytes) + KERNEL_BYTES_BESIDES_STACK,
            ..Self::mapped(stack_bytes.saturating_add(besides_stack))
        }
    }

    /// An async task.
    pub fn async_task() -> Self {
        Self::heap(BYTES_PER_ASYNC_TASK)
    }

    /// A goroutine.
    pub fn goroutine() -> Self {
        Self::heap(BYTES_PER_GOROUTINE)
    }

    /// Memory that is mapped to be written to.
    fn mapped(bytes: u64) -> Self {
        Self { address_space_bytes: bytes, committed_bytes: bytes, ..Self::NONE }
    }

    /// Memory that is allocated and written to.
    pub fn heap(bytes: u64) -> Self {
        Self { user_bytes: bytes, ..Self::mapped(bytes) }
    }

    /// A suspended coroutine on a stack of `stack_bytes`.
    pub fn coroutine(stack_bytes: u64) -> Self {
        Self {
            maps: MAPS_PER_COROUTINE,
            // The top of its stack.
            user_bytes: page_bytes(),
            kernel_bytes: KERNEL_BYTES_PER_COROUTINE,
            address_space_bytes: stack_bytes.saturating_add(page_bytes()),
            committed_bytes: stack_bytes,
            ..Self::NONE
        }
    }

    /// A process that blocks, a copy of this one.
    pub fn process() -> Self {
        Self {
            threads: 1,
            user_bytes: PAGES_PER_PROCESS * page_bytes(),
            kernel_bytes: KERNEL_PAGES_PER_PROCESS * page_bytes(),
            committed_bytes: COMMITTED_BYTES_PER_PROCESS,
            ..Self::NONE
        }
    }

    /// A channel in memory, with what it waits by.
    pub fn channel_in_memory() -> Self {
        Self::heap(BYTES_PER_CHANNEL_IN_MEMORY)
    }

    /// A pipe.
    pub fn pipe() -> Self {
        Self { pipe_pages: PAGES_PER_PIPE, ..Self::socket_pair() }
    }

    /// A socket pair.
    pub fn socket_pair() -> Self {
        Self { files: 2, kernel_bytes: page_bytes() + KERNEL_BYTES_PER_CHANNEL, ..Self::NONE }
    }

    /// An eventfd.
    pub fn eventfd() -> Self {
        Self { files: 1, kernel_bytes: KERNEL_BYTES_PER_EVENTFD, ..Self::NONE }
    }

    /// A ring of io_uring with [`RING_ENTRIES`] entries, mapped.
    pub fn ring() -> Self {
        Self::ring_of_pages(LOCKED_PAGES_PER_RING)
    }

    /// A read that waits in such a ring: the request and what wakes it, rounded up.
    pub fn ring_read() -> Self {
        Self { kernel_bytes: 512, ..Self::NONE }
    }

    fn ring_of_pages(pages: u64) -> Self {
        let locked_bytes = pages * page_bytes();
        Self {
            files: 1,
            maps: MAPS_PER_RING,
            user_bytes: locked_bytes,
            kernel_bytes: KERNEL_BYTES_PER_RING,
            address_space_bytes: locked_bytes,
            locked_bytes,
            rings: 1,
            ..Self::NONE
        }
    }

    /// A runtime of compio: a ring, and an eventfd that wakes it.
    pub fn compio() -> Self {
        let times_as_long = u64::from(COMPIO_ENTRIES / RING_ENTRIES);
        Self::ring_of_pages(LOCKED_PAGES_PER_RING * times_as_long).and(Self::eventfd())
    }

    /// What it takes to look at the process while its tasks are alive.
    pub fn observation() -> Self {
        Self { files: FILES_TO_OBSERVE, ..Self::NONE }
    }

    /// So many worker threads of an async runtime, with what the allocator maps
    /// for them.
    pub fn workers(count: u64) -> Self {
        let worker = Self::thread(STANDARD_STACK_BYTES);
        worker.times(count).and(worker.allocator(count))
    }

    /// So many of this.
    pub fn times(self, count: u64) -> Self {
        (0..count).fold(Self::NONE, |sum, _| sum.and(self))
    }

    /// What the allocator maps for so many tasks like this one: for threads, its
    /// arenas. Each of the first threads gets one; the initial thread's, which
    /// counts as the first of all, grows with the heap and reserves nothing.
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

    /// The same with its files watched by an epoll instance.
    pub fn watched(self) -> Self {
        Self { epoll_watches: self.files, ..self }
    }

    /// This and `other` together.
    pub fn and(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            threads: self.threads + other.threads,
            maps: self.maps + other.maps,
            user_bytes: self.user_bytes + other.user_bytes,
            kernel_bytes: self.kernel_bytes + other.kernel_bytes,
            address_space_bytes: self.address_space_bytes + other.address_space_bytes,
            committed_bytes: self.committed_bytes + other.committed_bytes,
            locked_bytes: self.locked_bytes + other.locked_bytes,
            pipe_pages: self.pipe_pages + other.pipe_pages,
            epoll_watches: self.epoll_watches + other.epoll_watches,
            rings: self.rings + other.rings,
        }
    }

    /// The amount of one resource.
    pub fn of(self, resource: Resource) -> u64 {
        match resource {
            Resource::Files => self.files,
            Resource::Threads => self.threads,
            Resource::Maps => self.maps,
            Resource::Memory => self.user_bytes.saturating_add(self.kernel_bytes),
            Resource::AddressSpace => self.address_space_bytes,
            Resource::CommittedMemory => self.committed_bytes,
            Resource::LockedMemory => self.locked_bytes,
            Resource::PipePages => self.pipe_pages,
            Resource::EpollWatches => self.epoll_watches,
            Resource::Rings => self.rings,
        }
    }
}

/// The arenas that the allocator makes at most: threads beyond as many share
/// them.
pub fn arenas() -> u64 {
    static ARENAS: LazyLock<u64> = LazyLock::new(|| {
        let cpus = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
        cpus.and_then(|cpus| u64::try_from(cpus).ok()).unwrap_or(1) * ARENAS_PER_CPU
    });
    *ARENAS
}

/// The size of a page, in bytes.
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
    /// Tokio tasks that wait for nothing
    Tokio,
    /// Tokio tasks over channels in memory
    TokioChannel,
    /// Tokio tasks over pipes
    TokioPipe,
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
    /// What such tasks are, in the plural; what one needs, with a stack of so many bytes; the
    /// channel that it reads from; and the files of its runtime.
    fn row(self) -> (&'static str, fn(u64) -> Amounts, Amounts, u64) {
        let (none, runtime) = (Amounts::NONE, FILES_PER_RUNTIME);
        let memory = Amounts::channel_in_memory();
        let [eventfd, pipe] = [Amounts::eventfd(), Amounts::pipe()];
        let thread: fn(u64) -> Amounts = Amounts::thread;
        let async_task: fn(u64) -> Amounts = |_| Amounts::async_task();
        match self {
            Self::Thread => ("threads", thread, none, 0),
            Self::ThreadFutex => ("threads over futexes or channels in memory", thread, memory, 0),
            Self::ThreadEventfd => ("threads over eventfds", thread, eventfd, 0),
            Self::ThreadPipe => ("threads over pipes", thread, pipe, 0),
            Self::ThreadSocketpair => {
                ("threads over socket pairs", thread, Amounts::socket_pair(), 0)
            }
            Self::Tokio => ("tokio tasks", async_task, none, runtime),
            // The channel is part of what an async task needs.
            Self::TokioChannel => ("tokio tasks over channels", async_task, none, runtime),
            Self::TokioPipe => ("tokio tasks over pipes", async_task, pipe.watched(), runtime),
            Self::AsyncExecutor => ("async-executor tasks", async_task, none, 0),
            Self::Goroutine => ("goroutines", |_| Amounts::goroutine(), none, 0),
            Self::Coroutine => ("coroutines", Amounts::coroutine, none, 0),
            Self::Process => ("processes", |_| Amounts::process(), none, 0),
            Self::IoUring => ("io_uring rings of 64 entries", |_| Amounts::ring(), none, 0),
        }
    }

    /// What the tasks are, in the plural.
    pub fn tasks(self) -> &'static str {
        self.row().0
    }

    /// The flags by which `task-memory` makes such tasks.
    pub fn flags(self) -> Vec<String> {
        let (kind, waiting) = match self {
            Self::TokioChannel => (Self::Tokio, Some("--waiting=channel")),
            Self::TokioPipe => (Self::Tokio, Some("--waiting=pipe")),
            other => (other, None),
        };
        [format!("--kind={kind}")].into_iter().chain(waiting.map(str::to_owned)).collect()
    }

    /// What one task needs, with the channel that it reads from.
    pub fn per_task(self) -> Amounts {
        self.per_task_with_stack(STACK_BYTES)
    }

    /// As [`Self::per_task`], with a stack of so many bytes where the task has
    /// one whose size is chosen.
    pub fn per_task_with_stack(self, stack_bytes: u64) -> Amounts {
        let (_, task, channel, _) = self.row();
        task(stack_bytes).and(channel)
    }

    /// Whether a task has a stack of a size that the program chooses.
    pub fn has_sized_stack(self) -> bool {
        self.per_task_with_stack(0) != self.per_task()
    }

    /// What a program with such tasks needs besides: the channel back to the
    /// driver, an async runtime on one thread, and files to look at itself.
    pub fn fixed(self) -> Amounts {
        let (_, _, channel, files) = self.row();
        channel.and(Amounts { files, ..Amounts::NONE }).and(Amounts::observation())
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
    fn compio_asks_for_a_longer_ring() {
        let (compio, ring) = (Amounts::compio(), Amounts::ring());
        assert_eq!((compio.rings, compio.files), (1, 2));
        assert_eq!(compio.locked_bytes, 16 * ring.locked_bytes);
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

    #[test]
    fn a_kind_has_one_name_everywhere() {
        for kind in Kind::value_variants() {
            let json = serde_json::to_string(kind).expect("serializes");
            assert_eq!(json, format!("\"{kind}\""));
        }
    }
}
