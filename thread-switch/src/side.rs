//! The two sides that hand over in turn, and what each of them does.

use std::io::{self, ErrorKind};

use anyhow::Context as _;
use harness::{Bench, Measured, Work};

/// One of two sides. At any moment one has the turn and the other waits.
pub trait Side {
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
    ///
    /// # Errors
    /// The kernel's, such as too many open files.
    fn alarm(&self) -> io::Result<Option<Alarm>> {
        Ok(None)
    }
}

/// Wakes a side that waits for one that has died.
pub type Alarm = Box<dyn FnOnce() + Send>;

/// The error of a side that waits in vain.
pub fn hung_up() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the other task has ended")
}

/// A side that hangs up when it is dropped, whatever the reason.
pub struct Held<S: Side>(pub S);

impl<S: Side> Drop for Held<S> {
    fn drop(&mut self) {
        self.0.hang_up();
    }
}

/// What the driver does: hand over and wait for its turn, lap after lap.
///
/// # Errors
/// That of the side.
pub fn drive(bench: &Bench, work: Work, driver: &mut impl Side) -> anyhow::Result<()> {
    for lap in bench.laps(&[Measured::per_task("iteration", "switch", bench.tasks())]) {
        work.perform();
        driver.hand_over().context("handing over to task 1")?;
        driver.wait().context("waiting for task 1 to hand over")?;
        lap.finish();
    }
    Ok(())
}

/// What the partner does: answer every turn until the driver hangs up.
///
/// # Errors
/// That of the side.
pub fn answer(work: Work, partner: &mut impl Side) -> io::Result<()> {
    loop {
        match partner.wait() {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            waited => waited?,
        }
        work.perform();
        partner.hand_over()?;
    }
}
