//! A brigade of threads: what a switch between threads costs when each of them
//! waits for I/O.
//!
//! One iteration: the driver writes a byte into the first channel, each of N
//! threads in turn reads it from its upstream channel and writes it into its
//! downstream one, and the driver reads it from the last. That is N + 1 hops.
//!
//! What is counted: a hop is one `write`, one `read` that blocks, and one
//! context switch, because at any moment one thread runs and all others wait.
//! The kernel's count of switches per hop stands beside that claim of 1.
//!
//! Known biases: a hop includes the I/O, whose cost alone `one-thread-brigade`
//! tells. Under free placement the kernel decides, anew in every process,
//! whether neighbours share a CPU, and waking an idle CPU costs more than
//! switching on a busy one: compare several processes.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::thread;

use anyhow::Context as _;
use harness::placement::Placement;
use harness::threads::join_all;
use harness::tracer::{TRACER_TOKEN, Tracer};
use harness::{Amounts, Bench, Channel, Defaults, Measured, Tasks};

/// Time a byte on its way through N threads that wait for one another.
///
/// One iteration: a byte goes from the driver through N OS threads and back;
/// each thread blocks reading its upstream channel and writes the byte
/// downstream. That makes N + 1 hops, each of them a context switch.
#[derive(clap::Args, serde::Serialize)]
struct Flags {
    /// What carries the byte from one thread to the next
    #[arg(long, value_enum, default_value_t = Channel::Pipe)]
    channel: Channel,

    /// Address space reserved for the stack of each thread
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, allow_negative_numbers = true)]
    #[arg(value_parser = harness::threads::stack_size)]
    stack_size: usize,
}

fn main() -> ExitCode {
    let defaults = Defaults { tasks: Tasks::Default(500), iters: 10_000, warmups: 100 };
    harness::run(harness::program!(), defaults, brigade)
}

fn brigade(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let thread = Amounts::thread(flags.stack_size as u64);
    bench.require(thread.and(Amounts::channel()), Amounts::channel())?;
    bench.expect_switches(1.0);
    let tracer = &*bench.tracer();
    let placement = bench.placement();

    thread::scope(|scope| {
        let (mut upstream, mut first) = flags.channel.open().context("opening channel 0")?;
        let mut threads = Vec::with_capacity(bench.tasks());
        for task in 0..bench.tasks() {
            let (next_upstream, downstream) =
                flags.channel.open().with_context(|| format!("opening channel {}", task + 1))?;
            let ends = (upstream, downstream);
            let thread = thread::Builder::new()
                .stack_size(flags.stack_size)
                .spawn_scoped(scope, move || relay(task, ends, placement, tracer))
                .with_context(|| format!("creating task {task}"))?;
            threads.push(thread);
            upstream = next_upstream;
        }
        let mut last = upstream;

        placement.take_seat(0).context("placing the driver")?;
        let passed = drive(bench, &mut first, &mut last);
        let observed = passed.and_then(|()| bench.observe());
        // Without its first write end the brigade ends, thread by thread.
        drop(first);
        join_all(threads).and(observed)
    })
}

/// Sends the token round, lap after lap.
fn drive(bench: &Bench, first: &mut File, last: &mut File) -> anyhow::Result<()> {
    let mut token = [0];
    for lap in bench.laps(&[Measured::hops(bench.tasks())]) {
        first.write_all(&[lap.token()]).context("sending the token to task 0")?;
        last.read_exact(&mut token).context("waiting for the token to come round")?;
        lap.finish();
    }
    Ok(())
}

/// Passes bytes from upstream to downstream until upstream is closed.
fn relay(
    task: usize,
    (mut upstream, mut downstream): (File, File),
    placement: &Placement,
    tracer: &Tracer,
) -> io::Result<()> {
    placement.take_seat(task + 1)?;
    let mut token = [0];
    while upstream.read(&mut token)? == 1 {
        if token[0] == TRACER_TOKEN {
            tracer.note(task);
        }
        downstream.write_all(&token)?;
    }
    Ok(())
}
