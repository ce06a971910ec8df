//! Threads or async for so many connections: what a run shows of servers with a task for each.

use harness::TaskKind;
use harness::limits::{Forecast, Limit, Resource, Scope};

use super::report::Report;
use super::row::{MemoryItem, Row};

/// What the requests of a server are called.
const REQUEST: &str = "request";

/// The servers of a run that does the same with each kind of task.
#[derive(Debug)]
pub struct Servers<'a> {
    /// The rows of all servers.
    pub rows: Vec<&'a Row>,
    /// The server with an async task for each connection.
    pub task: &'a Row,
    /// The server with a thread for each connection.
    pub thread: &'a Row,
}

impl<'a> Servers<'a> {
    /// The servers on the first screen of a report, wherever they are; `None` without both.
    pub fn find(report: &'a Report) -> Option<Self> {
        let blocks = report.screen.iter().flat_map(|part| &part.blocks);
        let is_server = |row: &&Row| row.operation == REQUEST && row.figure.is_some();
        let rows: Vec<&Row> = blocks.flat_map(|block| &block.rows).filter(is_server).collect();
        let cheapest = |kind: TaskKind| {
            let of_kind = rows.iter().copied().filter(|row| row.kind == Some(kind));
            of_kind.min_by(|one, other| one.value().total_cmp(&other.value()))
        };
        let task = cheapest(TaskKind::AsyncTask)?;
        let thread = cheapest(TaskKind::Thread)?;
        Some(Self { rows, task, thread })
    }
}

/// The memory of a connection with its task, in bytes; `None` if that was not measured.
pub fn bytes_per_connection(server: &Row) -> Option<f64> {
    let sum = server.memory.iter().find(|part| part.name == MemoryItem::Sum)?;
    Some(sum.bytes_per_task.value).filter(|bytes| *bytes > 0.0)
}

/// The free memory of the machine, in bytes; `None` if it cannot be read.
pub fn free_memory(forecast: &Forecast) -> Option<u64> {
    let is_free_memory =
        |limit: &Limit| (limit.scope, limit.resource) == (Scope::Machine, Resource::Memory);
    forecast.limits.iter().find(|line| is_free_memory(&line.limit))?.limit.value
}

#[cfg(test)]
mod tests {
    use harness::limits::Kind;

    use super::*;
    use crate::fixtures;
    use crate::judge::row::MemoryPart;
    use crate::judge::statistics::Estimate;

    /// The fixed report, whose hops are requests.
    fn report() -> Report {
        let mut report = fixtures::report();
        let blocks = report.screen.iter_mut().flat_map(|part| &mut part.blocks);
        for row in blocks.flat_map(|block| &mut block.rows) {
            row.operation = REQUEST.to_owned();
        }
        report
    }

    #[test]
    fn the_servers_do_not_depend_on_the_order_of_rows() {
        let named = |report: &Report| {
            Servers::find(report).map(|found| [found.task.case.clone(), found.thread.case.clone()])
        };
        let mut report = report();
        let expected = ["tasks", "threads --placement same-cpu"].map(str::to_owned);
        assert_eq!(named(&report), Some(expected.clone()));
        for block in report.screen.iter_mut().flat_map(|part| &mut part.blocks) {
            block.rows.reverse();
            block.reference = "threads --placement spread".to_owned();
        }
        let other = report.screen[0].clone();
        report.screen.insert(0, other);
        report.screen.reverse();
        assert_eq!(named(&report), Some(expected));
        // Hops are no requests.
        assert_eq!(named(&fixtures::report()), None);
    }

    #[test]
    fn a_connection_has_the_memory_of_its_server_and_the_machine_what_is_free() {
        let part = |name, bytes| Some(MemoryPart { name, bytes_per_task: Estimate::of(&[bytes])? });
        let memory = [part(MemoryItem::Slab, 1.0), part(MemoryItem::Sum, 9.0)];
        let row = Row { memory: memory.into_iter().flatten().collect(), ..Row::default() };
        assert_eq!(bytes_per_connection(&row), Some(9.0));
        assert_eq!(bytes_per_connection(&Row::default()), None);
        let limit =
            |scope, name, value| Limit { scope, ..Limit::new(Resource::Memory, name, Some(value)) };
        let limits =
            [limit(Scope::Group, "memory.max", 1 << 20), limit(Scope::Machine, "x", 1 << 30)];
        for limits in [limits.clone(), [limits[1].clone(), limits[0].clone()]] {
            let forecast = Forecast::new(Kind::ThreadTcp, Some(10), &limits);
            assert_eq!(free_memory(&forecast), Some(1 << 30));
        }
    }
}
