//! The program's flags, and its needs with them.

use harness::{Amounts, Launch, LoadFlags, Spec, StackFlag};

use crate::scheduled::{self, Scheduler};

/// Time a number on its way through N stackful coroutines on one thread.
///
/// One iteration: the driver resumes N coroutines in turn; each adds one to the number that it gets
/// and suspends with it, and the driver checks the sum. That makes N + 1 hops, without the kernel.
/// With a scheduler they wait for one another's channels or sockets instead.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// Scheduler of the coroutines [default: the driver resumes them in turn]
    #[arg(long, value_enum)]
    pub scheduler: Option<Scheduler>,

    #[command(flatten)]
    #[serde(flatten)]
    pub stack: StackFlag,

    #[command(flatten)]
    #[serde(flatten)]
    pub load: LoadFlags,
}

/// The declaration without flags.
pub const SPEC: Spec = Spec { tasks: 500, iters: 10_000, switches: Some(0.0), ..Spec::NEW };

/// The declaration with these flags.
///
/// # Errors
/// If flags contradict one another.
pub fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    let stack_bytes = flags.stack.stack_size as u64;
    let coroutine = Amounts::coroutine(stack_bytes);
    let (per_task, fixed) = match flags.scheduler {
        Some(scheduler) => {
            let task = coroutine.and(scheduler.channel());
            (task, scheduled::runtime().and(task))
        }
        None => (coroutine, Amounts::NONE),
    };
    Ok(Spec { load: Some(flags.load), per_task, fixed, ..SPEC })
}
