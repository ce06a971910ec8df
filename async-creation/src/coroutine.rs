//! Creating stackful coroutines: each gets a newly mapped stack, which is unmapped at its end.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use harness::limits::STACK_BYTES;
use harness::{Bench, Measured, clock, failure};

/// A coroutine that ends when it is resumed with `true`. It returns a `T`.
type Task<T> = Coroutine<bool, (), T>;

/// `create` maps the stacks; `join` resumes each to its end and unmaps its stack. `start` creates,
/// resumes and ends one coroutine after the other: no other exists meanwhile.
///
/// # Errors
/// If a limit refuses, or a stack cannot be allocated.
pub fn measure(bench: &Bench) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let per_task = |name, operation| Measured::per_task(name, operation, tasks);
    let mut alive = Vec::with_capacity(tasks);
    for lap in bench.cold_lap(per_task("create_cold", "task creation")) {
        create(tasks, &mut alive)?;
        lap.finish();
        join(&mut alive);
    }
    for mut lap in bench.laps(&[per_task("create", "task creation"), per_task("join", "join")]) {
        create(tasks, &mut alive)?;
        lap.split();
        join(&mut alive);
        lap.finish();
    }
    for lap in bench.repeated_laps(Measured::single("start", "start")) {
        for task in 0..tasks {
            let called = clock::now();
            let started = self::task(task, clock::now)?.resume(true).as_return();
            lap.sample(started.expect("it ends").saturating_sub(called));
        }
        lap.finish();
    }
    for task in bench.tasks_to_create() {
        let mut waiting = self::task(task, || ())?;
        waiting.resume(false);
        alive.push(waiting);
    }
    let observed = bench.observe();
    join(&mut alive);
    observed
}

/// The task with this number, whose first line is `first`.
fn task<T: 'static>(number: usize, first: fn() -> T) -> anyhow::Result<Task<T>> {
    let stack = DefaultStack::new(STACK_BYTES as usize);
    let stack = stack.map_err(failure::to_create(format_args!("the stack of task {number}")))?;
    Ok(Coroutine::with_stack(stack, move |yielder: &Yielder<bool, ()>, mut ends| {
        let started = first();
        while !ends {
            ends = yielder.suspend(());
        }
        started
    }))
}

fn create(tasks: usize, alive: &mut Vec<Task<()>>) -> anyhow::Result<()> {
    for number in 0..tasks {
        alive.push(task(number, || ())?);
    }
    Ok(())
}

fn join(alive: &mut Vec<Task<()>>) {
    for mut task in alive.drain(..) {
        task.resume(true);
    }
}
