//! A slot in memory under the standard library's mutex, and its condition
//! variable to wait for a change of it. The other end is notified when the
//! mutex is free again, so that it does not wake up only to wait for that.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Sink, Source};

/// What the mutex guards.
#[derive(Default)]
struct Slot {
    token: Option<u8>,
    sender_waits: bool,
    sender_closed: bool,
    receiver_closed: bool,
}

#[derive(Default)]
struct Monitor {
    slot: Mutex<Slot>,
    changed: Condvar,
}

impl Monitor {
    fn locked(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `condition` no longer holds of the slot.
    fn wait_while(&self, condition: impl FnMut(&mut Slot) -> bool) -> MutexGuard<'_, Slot> {
        let waited = self.changed.wait_while(self.locked(), condition);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that tokens come out of.
pub struct Out(Arc<Monitor>);

impl Source for Out {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let Monitor { changed, .. } = &*self.0;
        let mut slot = self.0.wait_while(|slot| slot.token.is_none() && !slot.sender_closed);
        let token = slot.token.take();
        let sender_waited = std::mem::take(&mut slot.sender_waits);
        drop(slot);
        if sender_waited {
            changed.notify_one();
        }
        Ok(token)
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.0.locked().receiver_closed = true;
        self.0.changed.notify_one();
    }
}

/// The end that tokens go into.
pub struct In(Arc<Monitor>);

impl Sink for In {
    fn send(&mut self, token: u8) -> io::Result<()> {
        let mut slot = self.0.wait_while(|slot| {
            slot.sender_waits = slot.token.is_some() && !slot.receiver_closed;
            slot.sender_waits
        });
        if slot.receiver_closed {
            return Err(ErrorKind::BrokenPipe.into());
        }
        slot.token = Some(token);
        drop(slot);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl Drop for In {
    fn drop(&mut self) {
        self.0.locked().sender_closed = true;
        self.0.changed.notify_one();
    }
}

/// A channel over a new slot.
pub fn channel() -> (Out, In) {
    let monitor = Arc::<Monitor>::default();
    (Out(Arc::clone(&monitor)), In(monitor))
}
