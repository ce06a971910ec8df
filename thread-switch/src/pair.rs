//! The two sides that hand over in turn.

use std::io::{self, ErrorKind};
use std::thread;

use anyhow::Context as _;
use harness::hand_over::{Sink, Source};
use harness::threads::{outcome, root_cause, spawn};
use harness::{Bench, Measured, Work};

/// The contents of a lap.
#[derive(Clone, Copy)]
pub struct RoundTrips {
    /// Round trips per lap. The clock is read once for all of them.
    pub per_lap: u64,
    /// What each side does before it hands over.
    pub work: Work,
}

/// One of two sides that alternate. Dropping it ends the other's turns.
pub struct Side<R, S> {
    /// Receives its turn.
    pub source: R,
    /// Hands over.
    pub sink: S,
}

/// A channel for each direction, both opened by `open`.
///
/// # Errors
/// Those of `open`.
pub fn twice<R, S>(open: impl Fn() -> io::Result<(R, S)>) -> io::Result<[(R, S); 2]> {
    Ok([open()?, open()?])
}

/// The driver's side and its partner's, over the channels there and back.
pub fn sides<R, S>([there, back]: [(R, S); 2]) -> [Side<R, S>; 2] {
    [Side { source: back.0, sink: there.1 }, Side { source: there.0, sink: back.1 }]
}

impl<R: Source, S: Sink> Side<R, S> {
    /// The driver's loop: hands over and waits for its turn, lap after lap.
    ///
    /// # Errors
    /// The kernel's, or that the partner is gone.
    pub fn drive(&mut self, bench: &Bench, trips: RoundTrips) -> anyhow::Result<()> {
        let operations = 2 * trips.per_lap;
        let switches =
            Measured { name: "iteration", operation: "switch", operations, covers_tasks: true };
        for lap in bench.laps(&[switches]) {
            for _ in 0..trips.per_lap {
                trips.work.perform();
                self.sink.send(0).context("handing over to task 1")?;
                let turn = self.source.receive().and_then(|turn| turn.ok_or_else(gone));
                turn.context("waiting for task 1 to hand over")?;
            }
            lap.finish();
        }
        bench.observe()
    }

    /// The partner's loop: answers every turn until the driver is gone.
    ///
    /// # Errors
    /// The kernel's.
    pub fn answer(&mut self, work: Work) -> io::Result<()> {
        while self.source.receive()?.is_some() {
            work.perform();
            self.sink.send(0)?;
        }
        Ok(())
    }
}

fn gone() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the other task has ended")
}

/// Measures two threads that hand over to each other: this one, which is task 0, and a new one.
///
/// # Errors
/// If a thread cannot be created or placed, or either fails.
pub fn measure<R: Source, S: Sink>(
    bench: &Bench,
    trips: RoundTrips,
    [mut driver, mut partner]: [Side<R, S>; 2],
) -> anyhow::Result<()> {
    let placement = bench.placement();
    thread::scope(|scope| {
        let body = move || {
            placement.pin(1)?;
            partner.answer(trips.work)
        };
        let thread = spawn(scope, 1, thread::Builder::new(), body)?;
        let placed = placement.pin(0).context("placing task 0");
        let driven = placed.and_then(|()| driver.drive(bench, trips));
        drop(driver);
        root_cause([Ok(()), outcome(thread)]).and(driven)
    })
}

/// Measures the control: one thread writes, then reads what it wrote. It makes the system calls of
/// a hand-over without a switch.
///
/// # Errors
/// The kernel's.
pub fn measure_alone<R: Source, S: Sink>(
    bench: &Bench,
    passes: RoundTrips,
    channel: io::Result<(R, S)>,
) -> anyhow::Result<()> {
    let (mut source, mut sink) = channel.context("opening the channel")?;
    let operations = passes.per_lap;
    let measured = Measured { operations, ..Measured::single("self", "write and read") };
    for lap in bench.laps(&[measured]) {
        for _ in 0..operations {
            passes.work.perform();
            sink.send(0).context("writing by one thread")?;
            source.receive().context("reading by one thread")?;
        }
        lap.finish();
    }
    bench.observe()
}
