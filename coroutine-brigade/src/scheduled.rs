//! The brigade on may: stackful coroutines run by a scheduler, over may's channels or sockets.
//!
//! One worker runs them all, including the driver. A task waits in `recv` or `read` until its
//! upstream neighbour wakes it, and goes through the scheduler's queue: like a runtime of async
//! tasks, but with stacks. With sockets, a task waits only after a read has found nothing, and
//! `epoll` finds it. May's second thread keeps time, and sleeps.

use std::io::{self, Read as _, Write as _};

use harness::hand_over::{Sink, Source, send_round};
use harness::threads::{TaskError, panic_text, root_cause};
use harness::{Amounts, Bench, Line, Measured, Station, failure};
use may::coroutine::{Builder, JoinHandle};
use may::os::unix::net::UnixStream;
use may::sync::spsc;

/// Values of `--scheduler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// May, over its channels in memory
    May,
    /// May, over Unix stream sockets
    MaySocketpair,
}

/// Files of may's worker: epoll, the eventfd that wakes it, and one to spare.
const FILES: u64 = 3;
/// The worker, and the thread that keeps time.
const THREADS: u64 = 2;

impl Scheduler {
    /// The needs of a channel.
    pub fn channel(self) -> Amounts {
        match self {
            Self::May => Amounts::channel_in_memory(),
            Self::MaySocketpair => Amounts::socket_pair().watched(),
        }
    }
}

/// The needs of the scheduler.
pub fn runtime() -> Amounts {
    Amounts { files: FILES, ..Amounts::workers(THREADS) }
}

/// Measures the brigade with stacks of this many bytes.
///
/// # Errors
/// Those of limits, sockets and tasks.
pub fn measure(scheduler: Scheduler, stack_bytes: usize, bench: &Bench) -> anyhow::Result<()> {
    may::config().set_workers(1).set_worker_pin(false);
    let bench = bench.clone();
    let driver = spawn(stack_bytes, move || match scheduler {
        Scheduler::May => brigade(&bench, stack_bytes, || {
            let (sender, receiver) = spsc::channel();
            Ok((End(receiver), End(sender)))
        }),
        Scheduler::MaySocketpair => brigade(&bench, stack_bytes, || {
            UnixStream::pair().map(|(reader, writer)| (End(reader), End(writer)))
        }),
    })?;
    driver.join().unwrap_or_else(|panic| Err(anyhow::anyhow!("{}", panic_text(&*panic))))
}

/// Starts a coroutine.
fn spawn<T: Send + 'static>(
    stack_bytes: usize,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let words = stack_bytes / size_of::<usize>();
    // SAFETY: there is one worker, so thread-local data are local to all coroutines, and none of
    // them keeps a reference to it while it waits. Their stacks are as large as those of any other
    // coroutine here.
    unsafe { Builder::new().stack_size(words).spawn(body) }
}

/// An end of a channel between coroutines. Its calls let others run while they wait.
struct End<T>(T);

impl Sink for End<spsc::Sender<u8>> {
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.0.send(token).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Source for End<spsc::Receiver<u8>> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        Ok(self.0.recv().ok())
    }
}

impl Sink for End<UnixStream> {
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.0.write_all(&[token])
    }
}

impl Source for End<UnixStream> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let mut token = [0];
        Ok((self.0.read(&mut token)? == 1).then_some(token[0]))
    }
}

/// Sets up the brigade, with channels that `open` opens, and measures it.
fn brigade<S: Sink + 'static, R: Source + 'static>(
    bench: &Bench,
    stack_bytes: usize,
    open: impl Fn() -> io::Result<(R, S)>,
) -> anyhow::Result<()> {
    let mut line = Line::create(bench.creation(), open, |task, upstream, downstream| {
        let station = bench.station(task);
        let started = spawn(stack_bytes, move || relay(&station, upstream, downstream));
        started.map_err(|error| failure::creating(format_args!("task {task}"), error))
    })?;

    let result = drive(bench, &mut line.first, &mut line.last);
    let observed = result.and_then(|()| bench.observe());
    drop(line.first);
    let outcomes = line.tasks.into_iter().map(|task| match task.join() {
        Ok(result) => result.map_err(TaskError::Failed),
        Err(panic) => Err(TaskError::Panicked(panic_text(&*panic))),
    });
    root_cause(outcomes.collect::<Vec<_>>()).and(observed)
}

/// Sends the token round, lap after lap.
fn drive(bench: &Bench, first: &mut impl Sink, last: &mut impl Source) -> anyhow::Result<()> {
    let station = bench.driver_station();
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        let token = lap.token();
        station.visit(token);
        send_round(token, first, last)?;
        lap.finish();
    }
    Ok(())
}

/// Passes tokens from upstream to downstream until upstream is closed.
fn relay(
    station: &Station,
    mut upstream: impl Source,
    mut downstream: impl Sink,
) -> io::Result<()> {
    while let Some(token) = upstream.receive()? {
        station.visit(token);
        downstream.send(token)?;
    }
    Ok(())
}
