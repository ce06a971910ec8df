//! What recorded runs do not say themselves, since their programs did not yet say it.

use harness::TaskKind;
use harness::record::Record;
use serde_json::Value;

/// What the tasks of a record before version 1.2 are: only of those in `results/`.
pub fn task_kind_of_older(record: &Record) -> Option<TaskKind> {
    let value = |name: &str| record.parameters.get(name).and_then(Value::as_str);
    match &*record.program {
        "thread-creation" | "thread-switch" => Some(TaskKind::Thread),
        "async-brigade" | "async-creation" | "async-mem-brigade" => Some(TaskKind::AsyncTask),
        "node-brigade" | "python-brigade" => Some(TaskKind::AsyncTask),
        "asio-brigade" | "coroutine-brigade" | "erlang-brigade" => Some(TaskKind::Coroutine),
        "java-brigade" | "java-server" => Some(TaskKind::Coroutine),
        "goroutine-brigade" | "goroutine-server" => Some(TaskKind::Goroutine),
        "event-loop-brigade" => Some(TaskKind::EventLoop),
        "one-thread-brigade" => Some(TaskKind::None),
        "lock-hand-over" | "wake-latency" => of_runtime(value("runtime")?),
        "process-creation" if value("via") == Some("thread") => Some(TaskKind::Thread),
        "process-creation" => Some(TaskKind::Process),
        "echo-server" | "python-tasks" | "task-memory" | "thread-brigade" => {
            of_kind(value("kind")?)
        }
        _ => None,
    }
}

/// What the tasks with this value of `--runtime` are.
fn of_runtime(runtime: &str) -> Option<TaskKind> {
    match runtime {
        "threads" => Some(TaskKind::Thread),
        "async-executor" | "tokio" | "tokio-current-thread" => Some(TaskKind::AsyncTask),
        _ => None,
    }
}

/// What the tasks with this value of `--kind` are.
fn of_kind(kind: &str) -> Option<TaskKind> {
    match kind {
        "thread" | "thread-pool" => Some(TaskKind::Thread),
        "process" => Some(TaskKind::Process),
        "asyncio" | "tokio" | "tokio-current-thread" => Some(TaskKind::AsyncTask),
        "epoll" => Some(TaskKind::EventLoop),
        "one" => Some(TaskKind::None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use contract::repository;

    use crate::manifest::Manifest;

    /// The kind of tasks of each record is the one that its program declares today.
    #[test]
    fn every_recorded_run_says_what_its_tasks_are() {
        let suite = Manifest::load(None).unwrap();
        for folder in repository::recorded_runs() {
            for invocation in crate::fixtures::read(&folder).invocations {
                let record = invocation.record.unwrap();
                assert_ne!(record.kind, None, "{}", invocation.case);
                if let Ok(case) = suite.case(&invocation.case) {
                    assert_eq!(record.kind, suite.task_kind(case), "{}", invocation.case);
                }
            }
        }
    }
}
