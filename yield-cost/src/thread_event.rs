//! Threads that hand one auto-reset event around.

use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use harness::Bench;
use harness::threads::spawn;

use crate::event::AutoResetEvent;
use crate::turns::{EndOfTurns, Turns, drive, join};

/// Measures cycles of as many threads as there are CPUs, two at least, of
/// which one at a time has the event.
pub fn measure(bench: &Bench, units: u64) -> anyhow::Result<()> {
    let threads = bench.tasks();
    let (turns, event) = (&Turns::default(), &AutoResetEvent::default());
    thread::scope(|scope| {
        let end = EndOfTurns { turns, event: Some(event) };
        let mut others = Vec::with_capacity(threads);
        for own in 1..threads {
            let passing = move || {
                let _end = EndOfTurns { turns, event: Some(event) };
                event.wait();
                while !turns.over.load(Relaxed) {
                    turns.take(own as u64, units);
                    event.set_and_wait();
                }
                Ok(())
            };
            others.push(spawn(scope, own, thread::Builder::new(), passing)?);
        }
        while event.waiting() < threads - 1 {
            thread::yield_now();
        }
        let driven = drive(bench, turns, units, || event.set_and_wait());
        drop(end);
        join(others).and(driven)
    })
}
