//! Limits: what the tasks need, what this machine allows, and which limit
//! binds first, found out before any task exists.
//!
//! [`in_force`] reads every limit that a program here can meet, with what is
//! in use already; [`admit`] compares a [`Need`] with them. The needs of a
//! thread are facts measured by tests in this module.

mod read;

use std::fmt;

pub use read::in_force;

/// Memory maps of a Rust thread under glibc: stack, its guard, alternate
/// signal stack, its guard.
pub const MAPS_PER_THREAD: u64 = 4;
/// Memory that a thread holds that does nothing but block, in bytes: about
/// 10 KiB in user space, a kernel stack of 16 KiB and about 8 KiB of other
/// kernel objects.
pub const BYTES_PER_THREAD: u64 = 34 << 10;
/// Memory that an async task on two pipes holds, in bytes, rounded up.
pub const BYTES_PER_ASYNC_TASK: u64 = 2 << 10;
/// Memory that a forked process holds that does nothing but block, in bytes,
/// rounded up: kernel stack and objects, page tables, pages that were written.
pub const BYTES_PER_PROCESS: u64 = 256 << 10;
/// Memory that a pipe or a socket pair with a token in it holds in the
/// kernel, in bytes: one page of data and the objects around it.
pub const BYTES_PER_CHANNEL: u64 = 6 << 10;
/// Files that a program holds for a moment to start a command: the shell's
/// standard input and output. Looking at itself in `/proc` takes one.
pub const FILES_TO_OBSERVE: u64 = 2;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Files => "open files",
            Self::Threads => "threads",
            Self::Maps => "memory maps",
            Self::Memory => "bytes of memory",
            Self::AddressSpace => "bytes of address space",
        })
    }
}

/// Amounts of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Open file descriptors.
    pub files: u64,
    /// Threads.
    pub threads: u64,
    /// Memory maps.
    pub maps: u64,
    /// Memory, user and kernel, in bytes.
    pub memory_bytes: u64,
    /// Address space, in bytes.
    pub address_space_bytes: u64,
}

impl Amounts {
    /// A thread that blocks, with a stack of `stack_bytes`.
    #[must_use]
    pub fn thread(stack_bytes: u64) -> Self {
        Self {
            threads: 1,
            maps: MAPS_PER_THREAD,
            memory_bytes: BYTES_PER_THREAD,
            address_space_bytes: stack_bytes,
            ..Self::default()
        }
    }

    /// An async task.
    #[must_use]
    pub fn async_task() -> Self {
        Self {
            memory_bytes: BYTES_PER_ASYNC_TASK,
            address_space_bytes: BYTES_PER_ASYNC_TASK,
            ..Self::default()
        }
    }

    /// A process that blocks, a copy of this one.
    #[must_use]
    pub fn process() -> Self {
        Self { threads: 1, memory_bytes: BYTES_PER_PROCESS, ..Self::default() }
    }

    /// A pipe or a socket pair.
    #[must_use]
    pub fn channel() -> Self {
        Self { files: 2, memory_bytes: BYTES_PER_CHANNEL, ..Self::default() }
    }

    /// What it takes to look at the process while its tasks are alive.
    #[must_use]
    pub fn observation() -> Self {
        Self { files: FILES_TO_OBSERVE, ..Self::default() }
    }

    /// This and `other` together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            threads: self.threads + other.threads,
            maps: self.maps + other.maps,
            memory_bytes: self.memory_bytes + other.memory_bytes,
            address_space_bytes: self.address_space_bytes + other.address_space_bytes,
        }
    }

    fn of(self, resource: Resource) -> u64 {
        match resource {
            Resource::Files => self.files,
            Resource::Threads => self.threads,
            Resource::Maps => self.maps,
            Resource::Memory => self.memory_bytes,
            Resource::AddressSpace => self.address_space_bytes,
        }
    }
}

/// What a number of tasks needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// How many tasks.
    pub tasks: u64,
    /// What each task needs.
    pub per_task: Amounts,
    /// What the program needs besides, however many tasks there are.
    pub besides: Amounts,
}

impl Need {
    fn of(&self, resource: Resource) -> u64 {
        let tasks = self.per_task.of(resource).saturating_mul(self.tasks);
        tasks.saturating_add(self.besides.of(resource))
    }

    /// How many tasks fit into `available` of a resource.
    fn fits(&self, resource: Resource, available: u64) -> u64 {
        match self.per_task.of(resource) {
            0 => u64::MAX,
            each => available.saturating_sub(self.besides.of(resource)) / each,
        }
    }
}

/// One limit of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What it counts.
    pub resource: Resource,
    /// Its name, as an administrator knows it.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// How much of it is in use already.
    pub in_use: u64,
    /// The command that raises it, with `{}` for the new value; `None` where
    /// no command does.
    pub raise: Option<String>,
}

impl Limit {
    fn available(&self) -> u64 {
        self.value.saturating_sub(self.in_use)
    }
}

/// A limit refuses: what is asked for does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    need: Box<Need>,
    limit: Box<Limit>,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { need, limit } = self;
        let amount = need.of(limit.resource);
        write!(
            out,
            "{} tasks need {amount} {}, but {} is {} with {} in use",
            need.tasks, limit.resource, limit.name, limit.value, limit.in_use,
        )?;
        if need.per_task.of(limit.resource) > 0 {
            let fitting = need.fits(limit.resource, limit.available());
            write!(out, ", which {fitting} tasks fit into")?;
        }
        match &limit.raise {
            Some(command) => {
                let enough = amount.saturating_add(limit.in_use).to_string();
                write!(out, "; raise it with: {}", command.replace("{}", &enough))
            }
            None => write!(out, "; free some or take fewer tasks"),
        }
    }
}

/// Finds the limit that refuses `need`: of several, the one that the fewest
/// tasks fit into.
///
/// # Errors
/// [`Refusal`] when a limit is too small.
pub fn admit(need: &Need, limits: &[Limit]) -> Result<(), Refusal> {
    let binding = limits
        .iter()
        .filter(|limit| need.of(limit.resource) > limit.available())
        .min_by_key(|limit| need.fits(limit.resource, limit.available()));
    match binding {
        None => Ok(()),
        Some(limit) => Err(Refusal { need: (*need).into(), limit: limit.clone().into() }),
    }
}

/// Checks every limit that `need` meets on this machine and raises the soft
/// file limit, as far as the hard one allows, when the files need it.
///
/// # Errors
/// [`Refusal`] when a limit is too small.
pub fn require(need: &Need) -> Result<(), Refusal> {
    admit(need, &in_force())?;
    read::raise_soft_file_limit();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(resource: Resource, value: u64, in_use: u64) -> Limit {
        let name = format!("the limit of {resource}");
        Limit { resource, name, value, in_use, raise: Some("raise {}".into()) }
    }

    fn threads_over_pipes(tasks: u64) -> Need {
        Need {
            tasks,
            per_task: Amounts::thread(1 << 20).and(Amounts::channel()),
            besides: Amounts::channel(),
        }
    }

    #[test]
    fn what_fits_exactly_is_admitted_and_one_more_is_not() {
        let limits = [limit(Resource::Files, 25, 3)];
        assert_eq!(admit(&threads_over_pipes(10), &limits), Ok(()));
        assert!(admit(&threads_over_pipes(11), &limits).is_err());
    }

    #[test]
    fn of_several_limits_the_tightest_is_named() {
        let limits = [limit(Resource::Files, 1000, 0), limit(Resource::Maps, 100, 0)];
        let refusal = admit(&threads_over_pipes(5000), &limits).expect_err("too many");
        assert_eq!(refusal.limit.resource, Resource::Maps);
    }

    #[test]
    fn a_refusal_names_limit_value_need_and_command() {
        let limits = [limit(Resource::Files, 20, 5)];
        let refusal = admit(&threads_over_pipes(100), &limits).expect_err("too many");
        assert_eq!(
            refusal.to_string(),
            "100 tasks need 202 open files, but the limit of open files is 20 with 5 in use, \
             which 6 tasks fit into; raise it with: raise 207"
        );
    }

    #[test]
    fn what_no_task_needs_is_refused_without_a_count_of_tasks() {
        let besides = Amounts { threads: 8, ..Amounts::default() };
        let need = Need { tasks: 3, per_task: Amounts::async_task(), besides };
        let refusal = admit(&need, &[limit(Resource::Threads, 10, 5)]).expect_err("too many");
        assert_eq!(
            refusal.to_string(),
            "3 tasks need 8 threads, but the limit of threads is 10 with 5 in use; \
             raise it with: raise 13"
        );
    }

    #[test]
    fn counts_beyond_arithmetic_are_refused_not_wrapped() {
        let limits = [limit(Resource::Files, u64::MAX - 1, 0)];
        assert!(admit(&threads_over_pipes(u64::MAX), &limits).is_err());
    }

    #[test]
    fn this_machine_has_a_limit_for_every_countable_resource() {
        let limits = in_force();
        for resource in [Resource::Files, Resource::Threads, Resource::Maps, Resource::Memory] {
            assert!(limits.iter().any(|limit| limit.resource == resource), "{resource}");
        }
    }

    /// The constant is a fact about glibc and `std`: count it.
    #[test]
    fn a_thread_takes_as_many_maps_as_the_constant_says() {
        const THREADS: usize = 64;
        let maps = || std::fs::read_to_string("/proc/self/maps").expect("maps").lines().count();
        let gate = std::sync::Barrier::new(THREADS + 1);
        std::thread::scope(|scope| {
            let before = maps();
            for _ in 0..THREADS {
                scope.spawn(|| {
                    gate.wait();
                    gate.wait();
                });
            }
            gate.wait();
            let per_thread = (maps() - before) as f64 / THREADS as f64;
            gate.wait();
            // Other tests create and end threads meanwhile.
            assert!((per_thread - MAPS_PER_THREAD as f64).abs() < 0.75, "{per_thread}");
        });
    }
}
