//! Populations: idle tasks of one kind, of which more can be added.

mod alternate_stack;
mod async_tasks;
mod channels;
mod compio_tasks;
mod coroutines;
mod executor_tasks;
mod local_pool_tasks;
mod processes;
mod refusable_threads;
mod rings;
mod threads;
mod tokio_tasks;

use std::io;

use anyhow::{Context as _, bail};
use futures::executor::LocalPool;
use harness::{Amounts, failure};

use crate::stack::MARGIN_BYTES;
use crate::subject::{Subject, Waiting};
use async_tasks::Tasks;
use executor_tasks::Executor;
use refusable_threads::RefusableThreads;
use threads::Threads;

/// What each task is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Address space of its stack, for the kinds that choose it.
    pub stack_bytes: usize,
    /// What it writes to before it waits: of its stack, or of a heap block
    /// for kinds without a stack.
    pub touch_bytes: usize,
    /// What it waits for, if it is an async task that waits for something.
    pub waiting: Option<Waiting>,
}

impl Task {
    /// What a task of this kind needs of every limited resource.
    pub fn amounts(self, subject: Subject) -> Amounts {
        let touch = Amounts { user_bytes: self.touch_bytes as u64, ..Amounts::default() };
        subject.kind(self.waiting).per_task_with_stack(self.stack_bytes as u64).and(touch)
    }

    /// How much of its stack a task may touch, in bytes.
    pub fn most_touched(self) -> usize {
        self.stack_bytes.saturating_sub(MARGIN_BYTES)
    }
}

/// Idle tasks of one kind. They end when the population is dropped, unless
/// [`Population::end`] has ended them before.
pub trait Population {
    /// Adds `count` tasks, and returns when each of them has touched what it
    /// is to touch. Those that were added before one is refused stay.
    ///
    /// # Errors
    /// [`harness::failure::Shortage`] when the kernel refuses a task.
    fn add(&mut self, count: u64) -> anyhow::Result<()>;

    /// How many tasks there are.
    fn count(&self) -> u64;

    /// The processes that the tasks live in, as they are called in `/proc`.
    fn processes(&self) -> Vec<String> {
        vec!["self".into()]
    }

    /// Ends all tasks.
    ///
    /// # Errors
    /// When a task failed.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A population of no tasks yet; one that is to grow until a task is refused
/// survives that refusal.
///
/// # Errors
/// When what all tasks share cannot be had.
pub fn open(
    subject: Subject,
    task: Task,
    until_refused: bool,
) -> anyhow::Result<Box<dyn Population>> {
    let threads = || -> Box<dyn Population> {
        match until_refused {
            true => Box::new(RefusableThreads::new(task)),
            false => Box::new(Threads::new(task)),
        }
    };
    let starting = "starting the runtime";
    Ok(match subject {
        Subject::Heap => bail!("a block of memory has no tasks"),
        Subject::Thread => threads(),
        Subject::ThreadFutex => Box::new(Both(channels::in_memory(), threads())),
        Subject::ThreadEventfd => Box::new(Both(channels::eventfds(), threads())),
        Subject::ThreadPipe => Box::new(Both(channels::pipes(), threads())),
        Subject::ThreadSocketpair => Box::new(Both(channels::socket_pairs(), threads())),
        Subject::Tokio => {
            Box::new(Tasks::new(tokio_tasks::current_thread(task).context(starting)?, task))
        }
        Subject::TokioLocal => {
            Box::new(Tasks::new(tokio_tasks::local(task).context(starting)?, task))
        }
        Subject::AsyncExecutor => Box::new(Tasks::new(Executor::default(), task)),
        Subject::Compio => {
            Box::new(Tasks::new(compio_tasks::Compio::new().context(starting)?, task))
        }
        Subject::LocalPool => Box::new(Tasks::new(LocalPool::new(), task)),
        Subject::Coroutine => Box::new(Each::of("stack", move || coroutines::suspended(task))),
        Subject::Process => Box::new(processes::Processes::new(task)?),
        Subject::IoUring => Box::new(Each::of("ring", rings::open)),
    })
}

/// Tasks, or what they need, that are made one like the other and then held.
struct Each<T> {
    /// What one of them is called in an error.
    what: &'static str,
    make: Box<dyn Fn() -> io::Result<T>>,
    held: Vec<T>,
}

impl<T> Each<T> {
    fn of(what: &'static str, make: impl Fn() -> io::Result<T> + 'static) -> Self {
        Self { what, make: Box::new(make), held: Vec::new() }
    }
}

impl<T> Population for Each<T> {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            let (what, task) = (self.what, self.held.len());
            let made = (self.make)();
            self.held.push(made.map_err(|error| {
                failure::creating(format_args!("the {what} of task {task}"), error)
            })?);
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        self.held.len() as u64
    }
}

/// A channel and a thread for each task.
struct Both<C>(Each<C>, Box<dyn Population>);

impl<C> Population for Both<C> {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        self.0.add(count)?;
        self.1.add(count)
    }

    /// A channel whose thread was refused is no task.
    fn count(&self) -> u64 {
        self.1.count()
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        self.1.end()
    }
}
