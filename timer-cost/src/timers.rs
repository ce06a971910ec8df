//! Timers of each kind, in slots: those that are futures, those of the kernel, and a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use harness::clock;
use harness::failure::to_create;
use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use tokio::time::{Instant, Sleep, Timeout, sleep, timeout};

/// What timers counted, if they do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// System calls.
    pub calls: Option<u64>,
    /// How often a heap's dead entries were removed.
    pub rebuilds: Option<u64>,
}

/// Timers of one kind.
pub trait Timers {
    /// Whether they can be reset.
    const CAN_RESET: bool = true;

    /// Arms the timer of a slot.
    fn arm(&mut self, slot: usize, due: Duration) -> io::Result<()>;

    /// Cancels the timer of a slot, which is armed.
    fn cancel(&mut self, slot: usize) -> io::Result<()>;

    /// Changes the time of the timer of a slot, which is armed.
    fn reset(&mut self, slot: usize, due: Duration) -> io::Result<()>;

    /// What they counted so far.
    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// A timer that is a future: it is armed when it is polled, and cancelled when it is dropped.
pub trait Alarm: Future + Send + 'static {
    /// Whether it can be reset.
    const CAN_RESET: bool = true;

    fn due_in(due: Duration) -> Self;

    fn reset(self: Pin<&mut Self>, due: Duration);

    /// Completes what it is the time-out of, if anything.
    fn complete(self: Pin<&mut Self>, _: &mut Context<'_>) {}
}

impl Alarm for Sleep {
    fn due_in(due: Duration) -> Self {
        sleep(due)
    }

    fn reset(self: Pin<&mut Self>, due: Duration) {
        self.reset(Instant::now() + due);
    }
}

impl Alarm for async_io::Timer {
    fn due_in(due: Duration) -> Self {
        Self::after(due)
    }

    fn reset(mut self: Pin<&mut Self>, due: Duration) {
        self.set_after(due);
    }
}

/// A request: pending when it is polled first, then ready.
#[derive(Debug, Default)]
pub struct Request {
    is_sent: bool,
}

impl Future for Request {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if mem::replace(&mut self.is_sent, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Alarm for Timeout<Request> {
    const CAN_RESET: bool = false;

    fn due_in(due: Duration) -> Self {
        timeout(due, Request::default())
    }

    fn reset(self: Pin<&mut Self>, _: Duration) {
        unreachable!("it has no reset")
    }

    fn complete(self: Pin<&mut Self>, context: &mut Context<'_>) {
        assert!(self.poll(context) == Poll::Ready(Ok(())), "the request is ready");
    }
}

/// Slots of timers that are futures, which one task polls.
pub struct Futures<A> {
    slots: Vec<Pin<Box<Option<A>>>>,
    waker: Waker,
}

impl<A: Alarm> Futures<A> {
    /// Empty slots of the current task.
    pub async fn new(slots: usize) -> Self {
        let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        Self { slots: (0..slots).map(|_| Box::pin(None)).collect(), waker }
    }

    fn armed(slot: &mut Pin<Box<Option<A>>>) -> Pin<&mut A> {
        slot.as_mut().as_pin_mut().expect("it is armed")
    }
}

impl<A: Alarm> Timers for Futures<A> {
    const CAN_RESET: bool = A::CAN_RESET;

    #[inline]
    fn arm(&mut self, slot: usize, due: Duration) -> io::Result<()> {
        let slot = &mut self.slots[slot];
        slot.set(Some(A::due_in(due)));
        match Self::armed(slot).poll(&mut Context::from_waker(&self.waker)) {
            Poll::Pending => Ok(()),
            Poll::Ready(_) => Err(io::Error::other("a timer fired when it was armed")),
        }
    }

    #[inline]
    fn cancel(&mut self, slot: usize) -> io::Result<()> {
        let slot = &mut self.slots[slot];
        Self::armed(slot).complete(&mut Context::from_waker(&self.waker));
        slot.set(None);
        Ok(())
    }

    #[inline]
    fn reset(&mut self, slot: usize, due: Duration) -> io::Result<()> {
        Self::armed(&mut self.slots[slot]).reset(due);
        Ok(())
    }
}

/// A timer of the kernel, which one system call arms, resets and, with a time of 0, cancels.
pub trait OfKernel: Sized {
    fn create() -> nix::Result<Self>;

    fn set_after(&mut self, due: Duration) -> nix::Result<()>;
}

impl OfKernel for TimerFd {
    fn create() -> nix::Result<Self> {
        Self::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)
    }

    fn set_after(&mut self, due: Duration) -> nix::Result<()> {
        self.set(Expiration::OneShot(TimeSpec::from(due)), TimerSetTimeFlags::empty())
    }
}

impl OfKernel for Timer {
    fn create() -> nix::Result<Self> {
        // Without a signal the kernel would only store the time, and queue nothing. This one is ignored.
        let notify = SigevNotify::SigevSignal { signal: Signal::SIGURG, si_value: 0 };
        Self::new(nix::time::ClockId::CLOCK_MONOTONIC, SigEvent::new(notify))
    }

    fn set_after(&mut self, due: Duration) -> nix::Result<()> {
        self.set(Expiration::OneShot(TimeSpec::from(due)), TimerSetTimeFlags::empty())
    }
}

/// Slots of timers of the kernel.
pub struct KernelTimers<K> {
    slots: Vec<K>,
    calls: u64,
}

impl<K: OfKernel> KernelTimers<K> {
    /// Creates all timers.
    ///
    /// # Errors
    /// The kernel's, with the number of the timer.
    pub fn new(slots: usize) -> anyhow::Result<Self> {
        let create = |slot| {
            K::create().map_err(io::Error::from).map_err(to_create(format_args!("timer {slot}")))
        };
        Ok(Self { slots: (0..slots).map(create).collect::<anyhow::Result<_>>()?, calls: 0 })
    }
}

impl<K: OfKernel> Timers for KernelTimers<K> {
    #[inline]
    fn arm(&mut self, slot: usize, due: Duration) -> io::Result<()> {
        self.calls += 1;
        Ok(self.slots[slot].set_after(due)?)
    }

    #[inline]
    fn cancel(&mut self, slot: usize) -> io::Result<()> {
        self.arm(slot, Duration::ZERO)
    }

    #[inline]
    fn reset(&mut self, slot: usize, due: Duration) -> io::Result<()> {
        self.arm(slot, due)
    }

    fn counts(&self) -> Counts {
        Counts { calls: Some(self.calls), rebuilds: None }
    }
}

/// So many dead entries are never removed.
const FEW: usize = 64;

/// An entry for the timer of a slot when it was armed as often as `number` says; dead if it was
/// cancelled since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due_ns: u64,
    slot: u32,
    number: u32,
}

/// Slots of timers in a heap. A cancelled timer stays in it as a dead entry until half of all are dead.
#[derive(Debug)]
pub struct Heap {
    entries: BinaryHeap<Reverse<Entry>>,
    /// How often the timer of each slot was cancelled.
    cancelled: Vec<u32>,
    dead: usize,
    /// Fires when the first timer is due, dead or not.
    file: TimerFd,
    set_to_ns: u64,
    calls: u64,
    rebuilds: u64,
}

impl Heap {
    /// Empty slots.
    ///
    /// # Errors
    /// The kernel's, if it creates no timer.
    pub fn new(slots: usize) -> anyhow::Result<Self> {
        let file = TimerFd::create().map_err(io::Error::from);
        Ok(Self {
            entries: BinaryHeap::with_capacity(slots),
            cancelled: vec![0; slots],
            dead: 0,
            file: file.map_err(to_create("the timer"))?,
            set_to_ns: u64::MAX,
            calls: 0,
            rebuilds: 0,
        })
    }

    /// Sets the file to this time on the clock; `u64::MAX` is never.
    fn set_to(&mut self, due_ns: u64) -> io::Result<()> {
        let due = if due_ns == u64::MAX { 0 } else { due_ns };
        let due = Expiration::OneShot(TimeSpec::from(Duration::from_nanos(due)));
        self.file.set(due, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        self.set_to_ns = due_ns;
        self.calls += 1;
        Ok(())
    }

    /// Removes all dead entries.
    #[cold]
    fn rebuild(&mut self) -> io::Result<()> {
        let Self { entries, cancelled, .. } = self;
        entries.retain(|Reverse(entry)| cancelled[entry.slot as usize] == entry.number);
        self.dead = 0;
        self.rebuilds += 1;
        let first_ns = self.entries.peek().map_or(u64::MAX, |Reverse(first)| first.due_ns);
        if first_ns == self.set_to_ns { Ok(()) } else { self.set_to(first_ns) }
    }
}

impl Timers for Heap {
    #[inline]
    fn arm(&mut self, slot: usize, due: Duration) -> io::Result<()> {
        let due_ns = clock::now() + due.as_nanos() as u64;
        let number = self.cancelled[slot];
        self.entries.push(Reverse(Entry { due_ns, slot: slot as u32, number }));
        if due_ns < self.set_to_ns { self.set_to(due_ns) } else { Ok(()) }
    }

    #[inline]
    fn cancel(&mut self, slot: usize) -> io::Result<()> {
        self.cancelled[slot] = self.cancelled[slot].wrapping_add(1);
        self.dead += 1;
        let is_time = self.dead > FEW && 2 * self.dead > self.entries.len();
        if is_time { self.rebuild() } else { Ok(()) }
    }

    #[inline]
    fn reset(&mut self, slot: usize, due: Duration) -> io::Result<()> {
        self.cancel(slot)?;
        self.arm(slot, due)
    }

    fn counts(&self) -> Counts {
        Counts { calls: Some(self.calls), rebuilds: Some(self.rebuilds) }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const SOON: Duration = Duration::from_millis(1);

    /// The one that was moved to an earlier time fires, and wakes the task.
    async fn check_futures<A: Alarm>() {
        let mut timers = Futures::<A>::new(2).await;
        timers.arm(0, HOUR).expect("armed");
        timers.arm(1, SOON).expect("armed");
        timers.cancel(1).expect("cancelled");
        assert!(timers.slots[1].is_none());
        timers.reset(0, 2 * HOUR).expect("later");
        timers.reset(0, SOON).expect("earlier");
        poll_fn(|context| Futures::armed(&mut timers.slots[0]).poll(context)).await;
    }

    #[test]
    fn a_future_fires_when_it_was_last_reset() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().expect("a runtime").block_on(check_futures::<Sleep>());
        async_io::block_on(check_futures::<async_io::Timer>());
    }

    #[test]
    fn a_time_out_ends_with_its_request() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().expect("a runtime").block_on(async {
            let mut timers = Futures::<Timeout<Request>>::new(1).await;
            timers.arm(0, HOUR).expect("armed");
            timers.cancel(0).expect("ready");
            assert!(timers.slots[0].is_none());
        });
    }

    fn check_kernel<K: OfKernel>(is_armed: impl Fn(&K) -> bool) {
        let mut timers = KernelTimers::<K>::new(2).expect("timers");
        timers.arm(0, HOUR).expect("armed");
        timers.arm(1, HOUR).expect("armed");
        timers.cancel(1).expect("cancelled");
        assert_eq!([0, 1].map(|slot| is_armed(&timers.slots[slot])), [true, false]);
        timers.reset(0, SOON).expect("earlier");
        while is_armed(&timers.slots[0]) {
            thread::yield_now();
        }
        assert_eq!(timers.counts().calls, Some(4));
    }

    #[test]
    fn a_timer_of_the_kernel_fires_when_it_was_last_reset() {
        check_kernel(|timer: &TimerFd| timer.get().expect("a time").is_some());
        check_kernel(|timer: &Timer| timer.get().expect("a time").is_some());
    }

    /// Slot 0 is cancelled so often that dead entries are removed again and again; the others stay.
    #[test]
    fn dead_entries_are_few_or_half_and_live_ones_stay() {
        let mut heap = Heap::new(101).expect("a heap");
        for slot in 1..101 {
            heap.arm(slot, 2 * HOUR).expect("armed");
        }
        for _ in 0..10_000 {
            heap.arm(0, HOUR).expect("armed");
            heap.cancel(0).expect("cancelled");
            assert_eq!(heap.entries.len() - heap.dead, 100);
            assert!(heap.dead <= FEW.max(heap.entries.len() / 2), "{heap:?}");
        }
        assert!(heap.rebuilds >= 10_000 / 102, "{}", heap.rebuilds);
        heap.rebuild().expect("rebuilt");
        let mut slots: Vec<u32> = heap.entries.iter().map(|Reverse(entry)| entry.slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, Vec::from_iter(1..101));
        let first = heap.entries.peek().expect("entries").0;
        assert_eq!(heap.set_to_ns, first.due_ns);
    }

    /// Only a timer that is due before all others takes a call; the last one disarms the file.
    #[test]
    fn the_file_is_set_for_the_first_timer() {
        let mut heap = Heap::new(3).expect("a heap");
        let is_set = |heap: &Heap| heap.file.get().expect("a time").is_some();
        assert!(!is_set(&heap));
        for (slot, hours, calls) in [(0, 2, 1), (1, 3, 1), (2, 1, 2)] {
            heap.arm(slot, hours * HOUR).expect("armed");
            assert_eq!(heap.calls, calls);
        }
        heap.reset(1, HOUR / 2).expect("earlier");
        assert_eq!((heap.calls, heap.dead, is_set(&heap)), (3, 1, true));
        (0..3).for_each(|slot| heap.cancel(slot).expect("cancelled"));
        heap.rebuild().expect("rebuilt");
        assert_eq!((heap.entries.len(), heap.set_to_ns, is_set(&heap)), (0, u64::MAX, false));
    }
}
