//! Populations: idle tasks of one kind, made one after the other until the
//! kernel refuses. None of them aborts when it does, and dropping a population
//! ends and frees its tasks.

mod alternate_stack;
mod channels;
mod coroutines;
mod memory_channels;
mod processes;
mod rings;
mod threads;
mod tokio_tasks;

use std::io;

use harness::limits::Kind;

/// The stack of a thread or a coroutine, as the programs choose it, in bytes.
const STACK_BYTES: usize = 1 << 20;

/// Idle tasks of one kind.
pub trait Population {
    /// Makes one more task and returns when it has taken all that it takes.
    ///
    /// # Errors
    /// What the kernel refused.
    fn add(&mut self) -> Result<(), Refused>;
}

/// A call that the kernel refused.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {error}")]
pub struct Refused {
    call: &'static str,
    error: io::Error,
}

impl Refused {
    fn by(call: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { call, error }
    }

    /// The calling thread's last error.
    fn last(call: &'static str) -> Self {
        Self { call, error: io::Error::last_os_error() }
    }
}

/// A population of no tasks yet, or why there is none of this kind.
///
/// # Errors
/// When the kind has tasks that this program cannot make, or what all tasks
/// share cannot be had.
pub fn open(kind: Kind) -> anyhow::Result<Box<dyn Population>> {
    use channels::Channels;
    use memory_channels::MemoryChannels;
    use threads::Threads;
    Ok(match kind {
        Kind::Thread => Box::new(Threads::new()),
        Kind::ThreadFutex => Box::new((MemoryChannels::default(), Threads::new())),
        Kind::ThreadEventfd => Box::new((Channels::eventfds(), Threads::new())),
        Kind::ThreadPipe => Box::new((Channels::pipes(), Threads::new())),
        Kind::ThreadSocketpair => Box::new((Channels::socket_pairs(), Threads::new())),
        Kind::TokioChannel => Box::new(tokio_tasks::Tasks::over_channels()?),
        Kind::TokioPipe => Box::new(tokio_tasks::Tasks::over_pipes()?),
        Kind::Coroutine => Box::new(coroutines::Coroutines::default()),
        Kind::Process => Box::new(processes::Processes::default()),
        Kind::IoUring => Box::new(rings::Rings::default()),
        Kind::Goroutine => anyhow::bail!(
            "--kind goroutine: only a Go program makes goroutines; \
             goroutine-brigade memory --tasks N does"
        ),
    })
}

/// Tasks of two kinds, as many of each. Of a task whose second half is
/// refused the first is there: the count leaves it out.
impl<A: Population, B: Population> Population for (A, B) {
    fn add(&mut self) -> Result<(), Refused> {
        self.0.add()?;
        self.1.add()
    }
}
