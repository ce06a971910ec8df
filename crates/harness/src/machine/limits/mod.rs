//! Limits: the needs of tasks, the machine's limits, and which is reached first, checked before any
//! task exists. A program's check and `brigade limits` share this code and its messages.

mod machine;
mod table;

use std::collections::BTreeSet;

use serde::Serialize;

pub use machine::{Limit, Resource, Scope, in_force, raise_soft_file_limit};
pub use table::{Amounts, Kind, RING_ENTRIES, STACK_BYTES, arenas};

use crate::machine::inherited::joined;
use crate::machine::system_files::SystemFiles;
use crate::words::description;

/// The standard library's default stack of a thread, in bytes.
pub(crate) const STANDARD_STACK_BYTES: u64 = 2 << 20;

/// The needs of a number of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    tasks: u64,
    /// The needs of one task.
    pub per_task: Amounts,
    /// The program's fixed needs.
    fixed: Amounts,
    /// The program's other threads; their needs are in the fixed ones.
    threads: u64,
}

/// What a program has besides its tasks and one channel for each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extras {
    /// How much each task and the driver also allocate, in bytes.
    pub heap_bytes: u64,
    /// More channels between tasks.
    pub channels: u64,
    /// Other threads, such as a runtime's workers.
    pub threads: u64,
    /// Other processes, such as hogs.
    pub processes: u64,
}

impl Need {
    /// The needs of tasks of this kind, with the default stack.
    pub fn new(kind: Kind, tasks: u64) -> Self {
        Self::with_stack(kind, tasks, STACK_BYTES)
    }

    /// The needs of tasks of this kind; those with stacks have one of this many bytes each.
    pub fn with_stack(kind: Kind, tasks: u64, stack_bytes: u64) -> Self {
        let needs = kind.needs();
        let stack = if kind.has_sized_stack() { stack_bytes } else { 0 };
        let per_task = needs.task + needs.channel + Amounts::stack(stack);
        // The channel back to the driver; a command that observes the tasks has a standard input
        // and output, and reading `/proc` takes one of them.
        let fixed = needs.shared + needs.channel + Amounts::files(2, 0);
        Self { tasks, per_task, fixed, threads: 0 }
    }

    /// The need of one block of memory.
    pub fn block(bytes: u64) -> Self {
        Self::in_memory(1, bytes)
    }

    /// The needs of tasks that have so many bytes of memory each, and nothing else.
    pub fn in_memory(tasks: u64, bytes: u64) -> Self {
        Self { tasks, per_task: Amounts::heap(bytes), fixed: Amounts::default(), threads: 0 }
    }

    /// Adds what the program has besides its tasks, which are of this kind.
    pub(crate) fn with_extras(self, kind: Kind, extras: Extras) -> Self {
        let heap = Amounts::heap(extras.heap_bytes);
        let thread = Amounts::thread() + Amounts::stack(STANDARD_STACK_BYTES);
        let fixed = self.fixed
            + heap
            + kind.needs().channel.times(extras.channels)
            + thread.times(extras.threads)
            + Amounts::process().times(extras.processes);
        Self { per_task: self.per_task + heap, fixed, threads: extras.threads, ..self }
    }

    /// Adds so much of a resource for each task.
    pub fn with_per_task(self, resource: Resource, amount: u64) -> Self {
        Self { per_task: self.per_task + Amounts::new([(resource, amount)]), ..self }
    }

    /// The total need of a resource, including what the allocator maps for threads.
    pub fn total(&self, resource: Resource) -> u64 {
        let tasks = if self.per_task.is_thread() { self.tasks } else { 0 };
        let threads = tasks.saturating_add(self.threads);
        let all = self.per_task.times(self.tasks) + self.fixed + Amounts::arenas(threads);
        all.amount(resource)
    }

    /// The effect of these limits, tightest first, of those that the tasks can reach. The commands
    /// are for `wanted` tasks, or else for twice as many as fit.
    fn lines(&self, limits: &[Limit], wanted: Option<u64>) -> Vec<LimitEffect> {
        let line = |limit: &Limit| {
            let per_task = self.per_task.amount(limit.resource);
            let allows = limit.available().map(|available| self.fits(limit.resource, available));
            let command = allows.and_then(|allows| {
                self.command(limit, allows, wanted.unwrap_or(allows.max(1).saturating_mul(2)))
            });
            let is_reached = per_task > 0 || allows == Some(0);
            is_reached.then(|| LimitEffect { limit: limit.clone(), per_task, allows, command })
        };
        let mut lines: Vec<LimitEffect> = limits.iter().filter_map(line).collect();
        lines.sort_by_key(|line| line.allows.unwrap_or(u64::MAX));
        lines
    }

    /// The command that raises a limit, which allows so many tasks, far enough for `wanted` tasks;
    /// `None` if they fit or the kernel would refuse it.
    fn command(&self, limit: &Limit, allows: u64, wanted: u64) -> Option<String> {
        if wanted <= allows {
            return None;
        }
        let need = Self { tasks: wanted, ..*self };
        let enough = need.total(limit.resource).saturating_add(limit.in_use);
        if enough > limit.most {
            return None;
        }
        Some(limit.raise.as_ref()?.replace("{}", &enough.to_string()))
    }

    /// The limit that refuses the tasks, and how many it allows: of several, the one with the fewest.
    fn refused_by(&self, limits: &[Limit]) -> Option<(LimitEffect, u64)> {
        let binding = self.lines(limits, Some(self.tasks)).into_iter().next()?;
        let allows = binding.allows.filter(|allows| *allows < self.tasks)?;
        Some((binding, allows))
    }

    /// How many tasks fit into `available` of a resource. The first threads take more than later
    /// ones. A few more may fit if not all arenas do: a thread whose arena is refused shares one.
    fn fits(&self, resource: Resource, available: u64) -> u64 {
        let need = |tasks| (Self { tasks, ..*self }).total(resource);
        let all_arenas = arenas();
        let Some(rest) = available.checked_sub(need(all_arenas)) else {
            return (0..all_arenas).rev().find(|tasks| need(*tasks) <= available).unwrap_or(0);
        };
        let per_task = self.per_task.amount(resource);
        if per_task == 0 {
            return u64::MAX;
        }
        all_arenas.saturating_add(rest / per_task)
    }
}

/// One limit's effect on tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema), schemars(rename = "Line"))]
pub struct LimitEffect {
    /// The limit.
    #[serde(flatten)]
    pub limit: Limit,
    /// How much of its resource one task takes.
    pub per_task: u64,
    /// How many tasks fit; `null` if the limit does not apply.
    pub allows: Option<u64>,
    /// The command that raises it: for the wanted tasks, if they do not fit, otherwise for twice as
    /// many as allowed.
    pub command: Option<String>,
}

/// A limit refuses the request; or the kernel, or a filter of its system calls, lacks something that
/// a flag needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// Checks `need` against `limits`.
///
/// # Errors
/// [`Refusal`] if a limit is too small.
pub fn admit(need: &Need, limits: &[Limit]) -> Result<(), Refusal> {
    let tasks = need.tasks;
    let Some((LimitEffect { limit, command, .. }, allows)) = need.refused_by(limits) else {
        return Ok(());
    };
    let Limit { name, in_use, most, .. } = &limit;
    let amount = need.total(limit.resource);
    let what = description(&limit.resource);
    let value = limit.value.unwrap_or(u64::MAX);
    let caveat = limit.caveat.as_ref().map_or(String::new(), |caveat| format!(" ({caveat})"));
    let way = match command {
        Some(command) => format!("raise it with: {command}"),
        None if limit.raise.is_some() => {
            format!("the largest possible value is {most}: use fewer tasks")
        }
        None => "free some or use fewer tasks".to_owned(),
    };
    Err(Refusal(format!(
        "{tasks} tasks need {amount} {what}, but {name} is {value} with {in_use} in use{caveat}, \
         enough for {allows} tasks; {way}"
    )))
}

/// Checks every limit of this machine against `need` and raises the soft file
/// limit to the hard one.
///
/// # Errors
/// [`Refusal`] if a limit is too small.
pub fn require(need: &Need) -> Result<(), Refusal> {
    admit(need, &in_force(&SystemFiles::live()))?;
    raise_soft_file_limit();
    Ok(())
}

/// What could not be read of this machine's limits, each once; `None` if all were.
pub fn unreadable() -> Option<String> {
    let limits = in_force(&SystemFiles::live()).into_iter();
    joined(limits.filter_map(|limit| limit.unknown).collect::<BTreeSet<String>>())
}

/// How many of the tasks of `need` fit on this machine.
pub fn fitting(need: &Need) -> u64 {
    need.refused_by(&in_force(&SystemFiles::live())).map_or(need.tasks, |(_, allows)| allows)
}

/// How many tasks of a kind fit, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Forecast {
    /// The kind of task: a value of `--kind`.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "String"))]
    pub kind: Kind,
    /// How many tasks fit, as far as limits are known; `null` without a limit.
    pub fits: Option<u64>,
    /// Whether limits are unknown, so that fewer may fit.
    pub at_most: bool,
    /// Every limit that the tasks can reach, tightest first. The first is reached first, unless it
    /// allows `null`; the second if the first is raised.
    pub limits: Vec<LimitEffect>,
    /// The memory of the wanted tasks, at most; `null` without a number.
    pub memory_bytes: Option<u64>,
}

impl Forecast {
    /// Compares the needs of tasks with `limits`, for as many as fit or, in the commands, for
    /// `wanted` tasks.
    pub fn new(kind: Kind, wanted: Option<u64>, limits: &[Limit]) -> Self {
        let limits = Need::new(kind, 0).lines(limits, wanted);
        Self {
            kind,
            fits: limits.first().and_then(|line| line.allows),
            at_most: limits.iter().any(|line| line.limit.unknown.is_some()),
            limits,
            memory_bytes: wanted.map(|tasks| Need::new(kind, tasks).total(Resource::Memory)),
        }
    }

    /// The limit that is reached first; `None` without one.
    pub fn binding(&self) -> Option<&LimitEffect> {
        self.limits.first().filter(|line| line.allows.is_some())
    }

    /// Whether so many tasks fit, as far as limits are known.
    pub fn allows(&self, tasks: u64) -> bool {
        self.fits.is_none_or(|fits| fits >= tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;
    use crate::tasks::task_kind::TaskKind;

    use Resource::{AddressSpace, Files, Maps, Memory, Threads};

    fn limit(resource: Resource, value: Option<u64>, in_use: u64) -> Limit {
        let raise = Some("raise {}".to_owned());
        Limit { in_use, raise, ..Limit::new(resource, "the limit", value) }
    }

    fn exempt(resource: Resource, value: u64) -> Limit {
        Limit { exempt: Some("root is exempt"), ..limit(resource, Some(value), 0) }
    }

    fn over_pipes(tasks: u64) -> Need {
        Need::new(Kind::ThreadPipe, tasks)
    }

    /// Of the files, two are the channel's back to the driver, and two are for observing.
    #[test]
    fn the_tightest_limit_refuses() {
        let files = |value, in_use| limit(Files, Some(value), in_use);
        let most = over_pipes(1000).total(Maps);
        let maps = |most| Limit { most, ..limit(Maps, Some(100), 0) };
        for (tasks, limits, refused) in [
            (10, vec![files(27, 3)], None),
            (11, vec![files(27, 3)], Some((Files, Some(29)))),
            (u64::MAX, vec![files(u64::MAX - 1, 0)], Some((Files, Some(u64::MAX)))),
            (1000, vec![exempt(Files, 1), limit(Files, None, 0)], None),
            (100, vec![limit(Maps, Some(100_000), 0), files(20, 5)], Some((Files, Some(209)))),
            // No command is printed that the kernel would refuse.
            (1000, vec![maps(most)], Some((Maps, Some(most)))),
            (1001, vec![maps(most)], Some((Maps, None))),
        ] {
            let refused_by = over_pipes(tasks).refused_by(&limits);
            let seen = refused_by.map(|(line, _)| (line.limit.resource, line.command));
            let raise = |enough: u64| format!("raise {enough}");
            assert_eq!(seen, refused.map(|(what, enough)| (what, enough.map(raise))), "{tasks}");
        }
    }

    /// On a machine with many CPUs the arenas alone may exceed the memory: the threads that fit
    /// have one each.
    #[test]
    fn arenas_are_charged_as_they_are_created() {
        let need = |tasks| Need::new(Kind::Thread, tasks);
        let each = need(1).per_task.amount(AddressSpace);
        let few = need(5).total(AddressSpace);
        assert_eq!(few, 5 * each + 5 * (64 << 20));
        assert_eq!(need(0).fits(AddressSpace, few), 5);
        assert_eq!(need(0).fits(AddressSpace, few - 1), 4);
        let many = need(100_000).total(AddressSpace);
        assert_eq!(need(0).fits(AddressSpace, many), 100_000);
        assert_eq!(many - need(99_999).total(AddressSpace), each);
        assert_eq!(Need::new(Kind::Process, 5).total(Maps), 0);
    }

    #[test]
    fn a_program_needs_what_its_declaration_says() {
        let spec = Spec {
            tasks: 6,
            channels: 1,
            threads: 3,
            processes: 4,
            ..Spec::new(TaskKind::Thread, Kind::Thread)
        };
        let need = |needs, heap_bytes| Spec { needs, heap_bytes, ..spec.clone() }.need();
        let pipes = need(Kind::TokioPipe, 0);
        let blocks = need(Kind::TokioPipe, 256 << 10);
        assert_eq!((pipes.total(Threads), pipes.total(Files)), (3 + 4, 2 * (6 + 2) + 3 + 2));
        assert_eq!(need(Kind::ThreadPipe, 0).total(Threads), 6 + 3 + 4);
        // The driver has a block, too, and each is a map.
        assert_eq!(blocks.total(Memory) - pipes.total(Memory), 7 * (256 << 10));
        assert_eq!(blocks.total(Maps) - pipes.total(Maps), 7 * 2);
    }
}
