//! Independent implementations of timer-cost, wake-all, lock-hand-over --read and thread-creation for the
//! proof, with the same checks of each operation, without laps, rounds and tallies. Prints the mean time of
//! an operation in nanoseconds: of a timer armed and cancelled, of one woken thread, of one acquisition, or of
//! one created thread.
//!
//! Usage: `bare-tasks timers|wake|readers|busy-readers|create SECONDS`

use std::env;
use std::pin::Pin;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Condvar, Mutex, RwLock};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use harness::work::spend;
use tokio::runtime;
use tokio::time::{Sleep, sleep};

/// Operations between two readings of the clock.
const BATCH: u32 = 1000;
/// Batches or events that are not timed.
const WARMUPS: u32 = 10;
/// Timers that are pending.
const PENDING: usize = 1000;
/// Threads that one event wakes.
const SLEEPERS: usize = 100;
/// Threads that read and write.
const TASKS: u64 = 8;
/// Units of work of an acquisition, of busy readers and writers.
const INSIDE: u64 = 100;
/// The share of acquisitions that read, in percent.
const READ: u64 = 90;
/// One in so many reads is timed, as each write is.
const TIMED: u64 = 64;
/// Stack of a thread, in bytes.
const STACK: usize = 256 << 10;
/// Threads that are created before they are joined, and their stacks: as by default in thread-creation.
const CREATED: u32 = 20;
const CREATED_STACK: usize = 1 << 20;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, seconds] = &arguments[..] else { bail!("usage: bare-tasks WHAT SECONDS") };
    let limit = Duration::try_from_secs_f64(seconds.parse()?).context("reading SECONDS")?;
    let mean_ns = match what.as_str() {
        "timers" => timers(limit)?,
        "wake" => wake(limit)?,
        "readers" => readers(limit, 0)?,
        "busy-readers" => readers(limit, INSIDE)?,
        "create" => create(limit),
        other => bail!("nothing is called {other}"),
    };
    println!("{mean_ns:.3}");
    Ok(())
}

/// Times what `batch` does, until the limit.
fn mean_ns(limit: Duration, operations: u32, mut batch: impl FnMut() -> Duration) -> f64 {
    let (mut total, mut batches) = (Duration::ZERO, 0_u32);
    for _ in 0..WARMUPS {
        batch();
    }
    while total < limit {
        total += batch();
        batches += 1;
    }
    total.as_nanos() as f64 / f64::from(batches) / f64::from(operations)
}

/// The next number of a linear congruential generator, of 32 random bits.
fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    *random >> 32
}

/// A time between 10 and 70 minutes.
fn due(random: &mut u64) -> Duration {
    Duration::from_secs(600) + Duration::from_millis(next(random) % 3_600_000)
}

/// Arms tokio's timer in this place.
fn arm(place: &mut Pin<Box<Option<Sleep>>>, due: Duration, waker: &Waker) {
    place.set(Some(sleep(due)));
    let timer = place.as_mut().as_pin_mut().expect("it was set");
    assert!(timer.poll(&mut Context::from_waker(waker)) == Poll::Pending, "it does not fire");
}

/// A timer of tokio is armed and cancelled, while others are pending.
fn timers(limit: Duration) -> anyhow::Result<f64> {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let task = async move {
        let waker = std::future::poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        let mut random = 1;
        let mut pending: Vec<_> = (0..PENDING).map(|_| Box::pin(None)).collect();
        for place in &mut pending {
            arm(place, due(&mut random), &waker);
        }
        let dues: Vec<Duration> = (0..BATCH).map(|_| due(&mut random)).collect();
        let mut place = Box::pin(None);
        // The driver sees the pending ones.
        sleep(Duration::from_millis(1)).await;
        mean_ns(limit, BATCH, || {
            let begun = Instant::now();
            for due in &dues {
                arm(&mut place, *due, &waker);
                place.set(None);
            }
            begun.elapsed()
        })
    };
    Ok(runtime.block_on(async { tokio::spawn(task).await })?)
}

/// Threads that end at once are created; joining them is not timed.
fn create(limit: Duration) -> f64 {
    let mut created = Vec::with_capacity(CREATED as usize);
    mean_ns(limit, CREATED, || {
        let begun = Instant::now();
        for _ in 0..CREATED {
            let thread = thread::Builder::new().stack_size(CREATED_STACK).spawn(|| ());
            created.push(thread.expect("a thread"));
        }
        let elapsed = begun.elapsed();
        for thread in created.drain(..) {
            thread.join().expect("no panic");
        }
        elapsed
    })
}

/// Voluntary switches of the process, as the kernel counts them.
fn switches() -> u64 {
    // SAFETY: the structure is plain data, which the kernel writes.
    let usage = unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_nvcsw as u64
}

/// `notify_all` wakes threads, which all sleep: until the last one runs.
fn wake(limit: Duration) -> anyhow::Result<f64> {
    let events = Mutex::new(0_u32);
    let changed = Condvar::new();
    let is_over = AtomicBool::new(false);
    let arrived = AtomicU32::new(0);
    let places: Vec<_> = (0..SLEEPERS).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
    let origin = Instant::now();
    let body = |place: &[AtomicU64; 2]| {
        let mut seen = 0;
        loop {
            arrived.fetch_add(1, Release);
            let held = events.lock().expect("no panic");
            drop(changed.wait_while(held, |events| *events == seen).expect("no panic"));
            seen += 1;
            place[0].store(origin.elapsed().as_nanos() as u64, Relaxed);
            place[1].fetch_add(1, Relaxed);
            if is_over.load(Relaxed) {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for place in &places {
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, || body(place)).context("a thread")?;
        }
        let sleep_all = || {
            // As many voluntary switches as threads, and none for a while.
            let mut before = 0;
            while arrived.load(Acquire) < SLEEPERS as u32 {
                thread::sleep(Duration::from_micros(50));
            }
            // Each pause is one switch, of this thread.
            while switches() > before + 1 {
                before = switches();
                thread::sleep(Duration::from_micros(50));
            }
        };
        sleep_all();
        let mut count = 0;
        let mut wrong = 0;
        let mean = mean_ns(limit, SLEEPERS as u32, || {
            arrived.store(0, Relaxed);
            count += 1;
            let called = origin.elapsed().as_nanos() as u64;
            *events.lock().expect("no panic") += 1;
            changed.notify_all();
            sleep_all();
            let last = places.iter().map(|place| place[0].load(Relaxed)).max().unwrap_or(0);
            wrong += places.iter().filter(|place| place[1].load(Relaxed) != count).count();
            Duration::from_nanos(last.saturating_sub(called))
        });
        is_over.store(true, Relaxed);
        *events.lock().expect("no panic") += 1;
        changed.notify_all();
        ensure!(wrong == 0, "threads were not woken once by each event");
        Ok(mean)
    })
}

/// Does so many units of work, if any, once `before` is known: the work of one acquisition does not begin
/// before that of the one before it has ended.
fn work(units: u64, before: u64) -> u64 {
    let none = before & std::hint::black_box(0);
    if units > 0 { spend(units | none) } else { before }
}

/// Threads read and write under `std::sync::RwLock`, with so many units of work inside, as with `--inside`.
fn readers(limit: Duration, inside: u64) -> anyhow::Result<f64> {
    let shared = RwLock::new([0_u64; 2]);
    let begin = Instant::now();
    let is_over = AtomicBool::new(false);
    let task = |number: u64| {
        let mut random = number;
        let [mut reads, mut writes, mut torn, mut waited, mut computed] = [0_u64; 5];
        loop {
            let is_read = (next(&mut random) * 100) >> 32 < READ;
            let asked = (!is_read || reads.is_multiple_of(TIMED)).then(Instant::now);
            if is_read {
                let words = shared.read().expect("no panic");
                waited += asked.map_or(0, |asked| asked.elapsed().as_nanos() as u64);
                let before = words[0];
                computed = work(inside, computed ^ before);
                torn += u64::from(before != std::hint::black_box(&words)[1]);
                reads += 1;
            } else {
                let mut words = shared.write().expect("no panic");
                waited += asked.map_or(0, |asked| asked.elapsed().as_nanos() as u64);
                words[1] += 1;
                computed = work(inside, computed ^ words[1]);
                std::hint::black_box(&mut words)[0] += 1;
                writes += 1;
            }
            let made = reads + writes;
            if made.is_multiple_of(1024) && begin.elapsed() >= limit {
                is_over.store(true, Relaxed);
            }
            if is_over.load(Relaxed) {
                std::hint::black_box((waited, computed));
                return [made, writes, torn];
            }
        }
    };
    let [made, writes, torn] = thread::scope(|scope| {
        let task = &task;
        let spawn = |number| scope.spawn(move || task(number));
        let threads: Vec<_> = (0..TASKS).map(spawn).collect();
        let counts = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        counts.fold([0; 3], |sum, one| [0, 1, 2].map(|at| sum[at] + one[at]))
    });
    let total = begin.elapsed();
    let counted = shared.into_inner().expect("no panic");
    ensure!(torn == 0 && counted == [writes; 2], "readers were inside with a writer");
    Ok(total.as_nanos() as f64 / made as f64)
}
