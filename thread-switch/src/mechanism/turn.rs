//! A word in memory says whose turn it is, on a cache line of its own. Three
//! ways to wait for it: in the kernel (`futex`), in a loop (`spin`), and by
//! letting others run (`yield`).

use std::hint::spin_loop;
use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;

use rustix::thread::futex::{self, Flags};

use crate::flags::Kind;
use crate::shared::shared;
use crate::side::{Alarm, Side, hung_up};

/// The bit of the word that says whose turn it is: the driver's at 0.
const WHOSE: u32 = 1;
/// The bit that says that no more turns come.
const OVER: u32 = 2;

/// The word.
#[repr(align(64))]
struct Turn(AtomicU32);

/// How a side waits for its turn, and wakes the other.
pub trait Waiting: Copy + Send + 'static {
    /// Waits for as long as the word is `seen`, or shorter.
    fn wait_while(self, word: &AtomicU32, seen: u32);

    /// Wakes the side that waits.
    fn wake(self, word: &AtomicU32);
}

/// In the kernel, by the system call `futex`.
#[derive(Clone, Copy)]
pub struct Futex {
    /// `PRIVATE` between threads, which spares the kernel looking for the page;
    /// nothing between processes.
    scope: Flags,
}

impl Futex {
    /// For sides of this kind.
    pub fn between(kind: Kind) -> Self {
        let scope = match kind {
            Kind::Thread => Flags::PRIVATE,
            Kind::Process => Flags::empty(),
        };
        Self { scope }
    }
}

impl Waiting for Futex {
    /// Returns at once if the word has changed meanwhile, and early when a
    /// signal is caught. Either way the caller looks again.
    fn wait_while(self, word: &AtomicU32, seen: u32) {
        let _ = futex::wait(word, self.scope, seen, None);
    }

    fn wake(self, word: &AtomicU32) {
        let _ = futex::wake(word, self.scope, 1);
    }
}

/// In a loop, keeping the CPU.
#[derive(Clone, Copy)]
pub struct Spin;

impl Waiting for Spin {
    fn wait_while(self, _: &AtomicU32, _: u32) {
        spin_loop();
    }

    fn wake(self, _: &AtomicU32) {}
}

/// In a loop of `sched_yield`.
#[derive(Clone, Copy)]
pub struct Yield;

impl Waiting for Yield {
    fn wait_while(self, _: &AtomicU32, _: u32) {
        thread::yield_now();
    }

    fn wake(self, _: &AtomicU32) {}
}

/// One side's view of the word.
#[derive(Clone, Copy)]
pub struct TurnSide<W> {
    turn: &'static Turn,
    mine: u32,
    waiting: W,
}

impl<W: Waiting> Side for TurnSide<W> {
    /// An exchange, where a store would be a little cheaper, so that hanging
    /// up at the same time is not overwritten.
    fn hand_over(&mut self) -> io::Result<()> {
        self.turn.0.fetch_xor(WHOSE, Release);
        self.waiting.wake(&self.turn.0);
        Ok(())
    }

    fn wait(&mut self) -> io::Result<()> {
        loop {
            match self.turn.0.load(Acquire) {
                over if over & OVER != 0 => return Err(hung_up()),
                turn if turn == self.mine => return Ok(()),
                seen => self.waiting.wait_while(&self.turn.0, seen),
            }
        }
    }

    fn hang_up(&self) {
        self.turn.0.fetch_or(OVER, Release);
        self.waiting.wake(&self.turn.0);
    }

    /// The kernel reports the death of one who shares memory to nobody.
    fn alarm(&self) -> io::Result<Option<Alarm>> {
        let side = *self;
        Ok(Some(Box::new(move || side.hang_up())))
    }
}

/// Two sides of a word in shared memory.
pub fn turns<W: Waiting>(waiting: W) -> io::Result<(TurnSide<W>, TurnSide<W>)> {
    let turn = shared(Turn(AtomicU32::new(0)))?;
    let side = |mine| TurnSide { turn, mine, waiting };
    Ok((side(0), side(WHOSE)))
}
