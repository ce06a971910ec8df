//! The two sides that hand over in turn, and what each of them does.

use std::io::{self, ErrorKind};

use anyhow::Context as _;
use harness::{Bench, Measured, Work};

/// What a lap consists of.
#[derive(Clone, Copy)]
pub struct RoundTrips {
    /// How many there are. The clock is read once for all of them.
    pub per_lap: u64,
    /// What each side does before it hands over.
    pub work: Work,
}

/// One of two sides. At any moment one has the turn and the other waits.
///
/// The loops are among its methods so that they are compiled for each
/// mechanism: no call in a lap is dynamic, while all around them is compiled
/// once, for [`Pair`].
pub trait Side: Send {
    /// Gives the turn to the other side.
    ///
    /// # Errors
    /// The kernel's, or that the other side has gone.
    fn hand_over(&mut self) -> io::Result<()>;

    /// Waits for the turn.
    ///
    /// # Errors
    /// The kernel's; [`ErrorKind::UnexpectedEof`] when the other side has hung
    /// up and the turn will not come.
    fn wait(&mut self) -> io::Result<()>;

    /// Tells the other side that it will get no further turn. Nothing needs
    /// to be done where dropping this side is enough.
    fn hang_up(&self) {}

    /// What to call when the other side has died without hanging up, so that
    /// this one ceases to wait; `None` where it is woken by that anyway.
    fn alarm(&self) -> io::Result<Option<Alarm>> {
        Ok(None)
    }

    /// What the driver does: hand over and wait for its turn, lap after lap.
    fn drive(&mut self, bench: &Bench, trips: RoundTrips) -> anyhow::Result<()> {
        let operations = 2 * trips.per_lap;
        let switches =
            Measured { name: "iteration", operation: "switch", operations, covers_tasks: true };
        for lap in bench.laps(&[switches]) {
            for _ in 0..trips.per_lap {
                trips.work.perform();
                self.hand_over().context("handing over to task 1")?;
                self.wait().context("waiting for task 1 to hand over")?;
            }
            lap.finish();
        }
        Ok(())
    }

    /// What the partner does: answer every turn until the driver hangs up.
    fn answer(&mut self, work: Work) -> io::Result<()> {
        loop {
            match self.wait() {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                waited => waited?,
            }
            work.perform();
            self.hand_over()?;
        }
    }
}

/// The driver's side and its partner's.
pub type Pair = [Box<dyn Side>; 2];

/// Wakes a side that waits for one that has died.
pub type Alarm = Box<dyn FnOnce() + Send>;

/// The error of a side that waits in vain.
pub fn hung_up() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the other task has ended")
}

/// A side that hangs up when it is dropped, whatever the reason.
pub struct Held(pub Box<dyn Side>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.hang_up();
    }
}
