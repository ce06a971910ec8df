//! Limits: the needs of tasks, the machine's limits, and which is reached first, checked before any
//! task exists.
//!
//! [`in_force`] reads every limit that tasks can reach, with its current use; [`admit`] compares a
//! [`Need`] with them, and [`Forecast`] computes how many tasks fit. [`Amounts`] are the needs of
//! one task; [`Kind`] lists the kinds of the programs. A program's check and `brigade limits` share
//! this code and its messages.

mod machine;
mod needs;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use machine::{Limit, in_force, may_raise_hard_limits, raise_soft_file_limit};
pub(crate) use needs::FILES_PER_RUNTIME;
pub use needs::{Amounts, Kind, RING_ENTRIES, Resource, STACK_BYTES, arenas};

use crate::system_files::SystemFiles;

/// The needs of a number of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The number of tasks.
    pub tasks: u64,
    /// The needs of each task.
    pub per_task: Amounts,
    /// The program's fixed needs.
    pub fixed: Amounts,
}

impl Need {
    /// The total need of a resource, including what the allocator maps for
    /// them.
    pub fn of(&self, resource: Resource) -> u64 {
        let tasks = self.per_task.of(resource).saturating_mul(self.tasks);
        let allocator = self.per_task.allocator(self.tasks).of(resource);
        tasks.saturating_add(allocator).saturating_add(self.fixed.of(resource))
    }

    /// How many tasks fit into `available` of a resource. The first threads take more than later
    /// ones, so it is found by trying. A few more may fit if not all arenas do: a thread whose
    /// arena is refused shares one.
    pub fn fits(&self, resource: Resource, available: u64) -> u64 {
        let each = self.per_task.of(resource);
        if each == 0 {
            return u64::MAX;
        }
        let (mut fit, mut too_many) = (0, (available / each).saturating_add(1));
        while too_many - fit > 1 {
            let tasks = fit + (too_many - fit) / 2;
            if (Self { tasks, ..*self }).of(resource) <= available {
                fit = tasks;
            } else {
                too_many = tasks;
            }
        }
        fit
    }
}

/// A limit refuses the request.
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
            need.tasks,
            limit.resource,
            limit.name,
            limit.value.unwrap_or(u64::MAX),
            limit.in_use,
        )?;
        if need.per_task.of(limit.resource) > 0 {
            let fitting = need.fits(limit.resource, limit.available().unwrap_or(u64::MAX));
            write!(out, ", enough for {fitting} tasks")?;
        }
        match (limit.commands_for(amount).first(), limit.greatest) {
            (Some(command), _) => write!(out, "; raise it with: {command}"),
            (None, Some(greatest)) if !limit.raise.is_empty() => {
                write!(out, "; the largest possible value is {greatest}: use fewer tasks")
            }
            (None, _) => write!(out, "; free some or use fewer tasks"),
        }
    }
}

/// Finds the limit that refuses `need`: of several, the one with the fewest
/// tasks.
///
/// # Errors
/// [`Refusal`] if a limit is too small.
pub fn admit(need: &Need, limits: &[Limit]) -> Result<(), Refusal> {
    let binding = limits
        .iter()
        .filter_map(|limit| Some((limit, limit.available()?)))
        .filter(|(limit, available)| need.of(limit.resource) > *available)
        .min_by_key(|(limit, available)| need.fits(limit.resource, *available));
    match binding {
        None => Ok(()),
        Some((limit, _)) => Err(Refusal { need: (*need).into(), limit: limit.clone().into() }),
    }
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

/// How many of the tasks of `need` fit on this machine.
pub fn fitting(need: &Need) -> u64 {
    let forecast = Forecast::new(need, in_force(&SystemFiles::live()), None);
    forecast.fits.map_or(need.tasks, |fit| fit.min(need.tasks))
}

/// One limit's effect on a kind of task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Line {
    /// The limit.
    #[serde(flatten)]
    pub limit: Limit,
    /// How much of its resource one task takes.
    pub per_task: u64,
    /// How many tasks fit; `null` if the limit does not apply.
    pub allows: Option<u64>,
    /// Whether it is the one that is reached first.
    pub binding: bool,
    /// Alternative commands that raise it: for the wanted tasks, if they do not fit, otherwise for
    /// twice as many as allowed.
    pub commands: Vec<String>,
}

/// The effect of all limits on a kind of task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Forecast {
    /// The needs of one task.
    pub per_task: Amounts,
    /// The program's other needs, with as many tasks as fit.
    pub besides: Amounts,
    /// How many tasks fit; `null` without a limit.
    pub fits: Option<u64>,
    /// Every limit that the tasks can reach, tightest first. The first is reached first, unless it
    /// allows `null`; the second if the first is raised.
    pub limits: Vec<Line>,
}

impl Forecast {
    /// Compares the needs of a task of `need` with `limits`, for as many tasks as fit or, in the
    /// commands, for `wanted` tasks.
    pub fn new(need: &Need, limits: Vec<Limit>, wanted: Option<u64>) -> Self {
        let per_task = need.per_task;
        let line = |limit: Limit| {
            let each = Some(per_task.of(limit.resource)).filter(|each| *each > 0)?;
            let allows = limit.available().map(|available| need.fits(limit.resource, available));
            let too_many = allows.and_then(|allows| {
                let wanted = wanted.unwrap_or(allows.max(1).saturating_mul(2));
                Some(Need { tasks: wanted, ..*need }).filter(|_| wanted > allows)
            });
            let room = |need: Need| limit.commands_for(need.of(limit.resource));
            let commands = too_many.map_or_else(Vec::new, room);
            Some(Line { per_task: each, allows, binding: false, commands, limit })
        };
        let mut limits: Vec<Line> = limits.into_iter().filter_map(line).collect();
        limits.sort_by_key(|line| line.allows.unwrap_or(u64::MAX));
        let fits = limits.first_mut().and_then(|line| {
            line.binding = line.allows.is_some();
            line.allows
        });
        let besides = need.fixed.and(per_task.allocator(fits.unwrap_or(u64::MAX)));
        Self { per_task, besides, fits, limits }
    }

    /// The limit that is reached first; `None` without one.
    pub fn binding(&self) -> Option<&Line> {
        self.limits.first().filter(|line| line.binding)
    }

    /// The limit that is reached once the first is raised.
    pub fn next(&self) -> Option<&Line> {
        self.limits.get(1).filter(|line| line.allows.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(resource: Resource, value: Option<u64>) -> Limit {
        Limit::new(resource, "the limit", "here", value).raised_by("raise {}")
    }

    fn limit(resource: Resource, value: u64, in_use: u64) -> Limit {
        of(resource, Some(value)).in_use(in_use)
    }

    fn threads_over_pipes(tasks: u64) -> Need {
        let per_task = Amounts::thread(1 << 20).and(Amounts::pipe());
        Need { tasks, per_task, fixed: Amounts::pipe() }
    }

    /// Checks the limits for this many threads over pipes, and how a refusal ends.
    #[track_caller]
    fn check(tasks: u64, limits: &[Limit], expected: Option<&str>) {
        let refusal = admit(&threads_over_pipes(tasks), limits).err().map(|it| it.to_string());
        assert_eq!(refusal.is_some(), expected.is_some(), "{refusal:?}");
        let refusal = refusal.unwrap_or_default();
        assert!(refusal.ends_with(expected.unwrap_or_default()), "{refusal}");
    }

    #[test]
    fn the_tightest_limit_refuses() {
        use Resource::{Files, Maps};
        check(10, &[limit(Files, 25, 3)], None);
        check(11, &[limit(Files, 25, 3)], Some(""));
        // The sum does not overflow.
        check(u64::MAX, &[limit(Files, u64::MAX - 1, 0)], Some(""));
        let exempt = limit(Files, 1, 0).exempt(Some("root is exempt"));
        check(1000, &[exempt, of(Files, None)], None);
        check(
            100,
            &[limit(Maps, 100_000, 0), limit(Files, 20, 5)],
            Some(
                "100 tasks need 202 open files, but the limit is 20 with 5 in use, enough for 6 \
                 tasks; raise it with: raise 207",
            ),
        );
        // No command would be refused by the kernel.
        let greatest = threads_over_pipes(1000).of(Maps);
        let limits = [Limit { greatest: Some(greatest), ..limit(Maps, 100, 0) }];
        check(1000, &limits, Some(&format!("raise it with: raise {greatest}")));
        let words = format!("the largest possible value is {greatest}: use fewer tasks");
        check(1001, &limits, Some(&words));
    }

    #[test]
    fn a_resource_that_no_task_needs_is_not_counted_in_tasks() {
        let fixed = Amounts { threads: 8, ..Amounts::default() };
        let need = Need { tasks: 3, per_task: Amounts::async_task(), fixed };
        let refusal = admit(&need, &[limit(Resource::Threads, 10, 5)]).expect_err("too many");
        assert!(!refusal.to_string().contains("fit into"), "{refusal}");
    }

    /// On a machine with many CPUs the arenas alone may exceed the memory: the threads that fit
    /// have one each.
    #[test]
    fn arenas_are_charged_as_they_are_created() {
        let per_task = Amounts::thread(1 << 20);
        let need = |tasks| Need { tasks, per_task, fixed: Amounts::default() };
        let few = need(5).of(Resource::AddressSpace);
        assert_eq!(few, 5 * per_task.address_space_bytes + 5 * (64 << 20));
        assert_eq!(need(0).fits(Resource::AddressSpace, few), 5);
        assert_eq!(need(0).fits(Resource::AddressSpace, few - 1), 4);
        let many = need(100_000).of(Resource::AddressSpace);
        assert_eq!(need(0).fits(Resource::AddressSpace, many), 100_000);
        assert_eq!(many - need(99_999).of(Resource::AddressSpace), per_task.address_space_bytes);
    }

    #[test]
    fn the_tightest_limit_is_first_and_the_second_is_next() {
        use Resource::{Files, Maps, Memory, Rings, Threads};
        let forecast = |limits| Forecast::new(&threads_over_pipes(0), limits, Some(20_000));
        let exempt = limit(Threads, 7, 0).exempt(Some("root is exempt"));
        let (maps, files) = (limit(Maps, 65_530, 30), limit(Files, 20_000, 4));
        let some = forecast(vec![exempt.clone(), limit(Threads, 32_768, 100), maps, files]);
        assert_eq!(some.fits, Some((20_000 - 4 - 2) / 2));
        assert_eq!(some.binding().map(|line| line.limit.resource), Some(Files));
        let arenas = Amounts::thread(1 << 20).allocator(u64::MAX).maps;
        assert_eq!(some.next().and_then(|line| line.allows), Some((65_500 - arenas) / 4));
        let raised: Vec<_> = some.limits.iter().map(|line| line.commands.clone()).collect();
        let maps = format!("raise {}", 80_000 + arenas + 30);
        assert_eq!(raised, [vec!["raise 40006".to_owned()], vec![maps], vec![], vec![]]);

        let none = forecast(vec![exempt, of(Memory, None), limit(Rings, 0, 0)]);
        assert_eq!((none.fits, none.binding(), none.next()), (None, None, None));
        assert_eq!(none.limits.len(), 2, "no thread reaches the limit of rings");
    }
}
