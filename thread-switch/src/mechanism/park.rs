//! `std`'s parking: a thread parks itself until another one, which must know
//! it, unparks it.

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use crate::side::{Side, hung_up};

/// The bit of the word that says whose turn it is: the driver's at 0.
const WHOSE: u32 = 1;
/// The bit that says that no more turns come.
const OVER: u32 = 2;

/// What the two threads share.
struct Turns {
    /// Parking can end early, so a word says whose turn it is.
    turn: AtomicU32,
    /// The driver's thread, then the partner's, which comes later.
    threads: [OnceLock<Thread>; 2],
}

/// One of the two threads.
pub struct Park {
    turns: Arc<Turns>,
    mine: u32,
}

impl Park {
    /// Makes this thread known to the other one.
    fn begin(&self) {
        self.turns.threads[self.mine as usize].get_or_init(thread::current);
    }

    /// Wakes the other thread, waiting first until it has begun.
    fn unpark_other(&self) {
        self.turns.threads[(self.mine ^ WHOSE) as usize].wait().unpark();
    }
}

impl Side for Park {
    fn hand_over(&mut self) -> io::Result<()> {
        self.turns.turn.fetch_xor(WHOSE, Release);
        self.unpark_other();
        Ok(())
    }

    fn wait(&mut self) -> io::Result<()> {
        self.begin();
        loop {
            match self.turns.turn.load(Acquire) {
                over if over & OVER != 0 => return Err(hung_up()),
                turn if turn == self.mine => return Ok(()),
                _ => thread::park(),
            }
        }
    }

    /// A side that fails before its first wait makes itself known here: the
    /// other one may be waiting for that.
    fn hang_up(&self) {
        self.begin();
        self.turns.turn.fetch_or(OVER, Release);
        self.unpark_other();
    }
}

/// Two sides, of which this thread is to be the driver.
pub fn parks() -> (Park, Park) {
    let threads = [thread::current().into(), OnceLock::new()];
    let turns = Arc::new(Turns { turn: AtomicU32::new(0), threads });
    (Park { turns: Arc::clone(&turns), mine: 0 }, Park { turns, mine: WHOSE })
}
