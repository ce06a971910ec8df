//! How many tasks fit, by every limit.

use super::{Amounts, Limit, Need, Resource};

/// What one limit says of a kind of task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The limit.
    pub limit: Limit,
    /// How much of its resource one task takes.
    pub per_task: u64,
    /// How many tasks fit into it; `None` where it does not bind.
    pub allows: Option<u64>,
}

/// What all limits that a kind of task meets say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// What a task needs, and what the program needs whatever their number.
    need: Need,
    /// The tightest first; those that do not bind last.
    lines: Vec<Line>,
}

impl Forecast {
    /// Compares what a task needs, and what is needed whatever their number, with `limits`.
    /// Those that it does not meet are left out.
    pub fn new(per_task: Amounts, fixed: Amounts, limits: Vec<Limit>) -> Self {
        let need = Need { tasks: 0, per_task, fixed };
        let mut lines: Vec<Line> = limits
            .into_iter()
            .filter(|limit| per_task.of(limit.resource) > 0)
            .map(|limit| Line {
                per_task: per_task.of(limit.resource),
                allows: limit.available().map(|available| need.fits(limit.resource, available)),
                limit,
            })
            .collect();
        lines.sort_by_key(|line| line.allows.unwrap_or(u64::MAX));
        Self { need, lines }
    }

    /// What every limit says, the tightest first.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The line of the limit that binds; `None` where none does.
    pub fn binding(&self) -> Option<&Line> {
        self.lines.first().filter(|line| line.allows.is_some())
    }

    /// How many tasks fit; `None` where no limit binds.
    pub fn fits(&self) -> Option<u64> {
        self.binding()?.allows
    }

    /// The line that binds once the binding limit is raised.
    pub fn next(&self) -> Option<&Line> {
        self.lines.get(1).filter(|line| line.allows.is_some())
    }

    /// What the program needs besides the tasks, where as many are made as fit:
    /// also what the allocator maps for them.
    pub fn besides(&self) -> Amounts {
        let Need { per_task, fixed, .. } = self.need;
        fixed.and(per_task.allocator(self.fits().unwrap_or(u64::MAX)))
    }

    /// The lines of all limits that `tasks` tasks do not fit into.
    pub fn too_tight(&self, tasks: u64) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(move |line| line.allows.is_some_and(|allows| allows < tasks))
    }

    /// How much of a resource `tasks` tasks need.
    pub fn need(&self, tasks: u64, resource: Resource) -> u64 {
        Need { tasks, ..self.need }.of(resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(resource: Resource, value: Option<u64>) -> Limit {
        Limit::new(resource, "a limit", "here", value)
    }

    fn forecast(limits: Vec<Limit>) -> Forecast {
        Forecast::new(Amounts::thread(1 << 20).and(Amounts::pipe()), Amounts::pipe(), limits)
    }

    #[test]
    fn the_tightest_limit_binds_and_the_second_is_next() {
        let forecast = forecast(vec![
            limit(Resource::Threads, Some(7)).exempt(Some("root is exempt")),
            limit(Resource::Threads, Some(32_768)).in_use(100),
            limit(Resource::Maps, Some(65_530)).in_use(30),
            limit(Resource::Files, Some(20_000)).in_use(4),
        ]);
        assert_eq!(forecast.fits(), Some((20_000 - 4 - 2) / 2));
        assert_eq!(forecast.binding().map(|line| line.limit.resource), Some(Resource::Files));
        let arenas = Amounts::thread(1 << 20).allocator(u64::MAX).maps;
        assert_eq!(forecast.next().and_then(|line| line.allows), Some((65_500 - arenas) / 4));
        let tight: Vec<_> = forecast.too_tight(20_000).map(|line| line.limit.resource).collect();
        assert_eq!(tight, [Resource::Files, Resource::Maps]);
        assert_eq!(forecast.need(10, Resource::Files), 22);
    }

    #[test]
    fn limits_that_are_not_met_or_do_not_bind_bind_nothing() {
        let forecast = forecast(vec![
            limit(Resource::Threads, Some(1)).exempt(Some("root is exempt")),
            limit(Resource::Memory, None),
            limit(Resource::Rings, Some(0)),
        ]);
        assert_eq!((forecast.fits(), forecast.binding(), forecast.next()), (None, None, None));
        assert_eq!(forecast.lines().len(), 2, "no thread meets the limit of rings");
    }
}
