//! Creating stackful coroutines: each gets a newly mapped stack, which is unmapped at its end.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use harness::limits::STACK_BYTES;
use harness::{Bench, Measured, clock, failure};

/// A coroutine that ends when it is resumed with `true`, and yields the time at which it began.
type Task = Coroutine<bool, (), u64>;

/// `create` maps the stacks; `join` resumes each to its end and unmaps its stack.
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
            let started = self::task(task)?.resume(true).as_return();
            lap.sample(started.expect("it ends").saturating_sub(called));
        }
        lap.finish();
    }
    for task in bench.tasks_to_create() {
        let mut waiting = self::task(task)?;
        waiting.resume(false);
        alive.push(waiting);
    }
    let observed = bench.observe();
    join(&mut alive);
    observed
}

fn task(number: usize) -> anyhow::Result<Task> {
    let stack = DefaultStack::new(STACK_BYTES as usize);
    let stack = stack.map_err(failure::to_create(format_args!("the stack of task {number}")))?;
    Ok(Coroutine::with_stack(stack, |yielder: &Yielder<bool, ()>, mut ends| {
        let started = clock::now();
        while !ends {
            ends = yielder.suspend(());
        }
        started
    }))
}

fn create(tasks: usize, alive: &mut Vec<Task>) -> anyhow::Result<()> {
    for number in 0..tasks {
        alive.push(task(number)?);
    }
    Ok(())
}

fn join(alive: &mut Vec<Task>) {
    for mut task in alive.drain(..) {
        task.resume(true);
    }
}
