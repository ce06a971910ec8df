//! An independent implementation of channel-load for the proof: one producer and one consumer of
//! messages of 64 bytes, a channel for 64 of them, and the same checks of each message or none. Prints
//! the mean time of a message in nanoseconds.
//!
//! Usage: `bare-channel std|crossbeam|queue|pipe|tokio checked|unchecked SECONDS`

use std::collections::VecDeque;
use std::env;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::runtime;

const CAPACITY: usize = 64;
/// Messages between two readings of the clock.
const BLOCK: u64 = 16_384;
/// Blocks that are not timed.
const WARMUPS: u32 = 10;

/// Threads that wait until the end.
const WAITING: usize = 2;

/// A message: its number in the first word, and padding.
type Message = [u64; 8];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [channel, checks, seconds] = &arguments[..] else {
        bail!("usage: bare-channel CHANNEL checked|unchecked SECONDS")
    };
    let limit = Duration::try_from_secs_f64(seconds.parse()?).context("reading SECONDS")?;
    let mean_ns = match checks.as_str() {
        "checked" => measure::<true>(channel, limit)?,
        "unchecked" => measure::<false>(channel, limit)?,
        other => bail!("neither checked nor unchecked: {other}"),
    };
    println!("{mean_ns:.3}");
    Ok(())
}

fn measure<const CHECKED: bool>(channel: &str, limit: Duration) -> anyhow::Result<f64> {
    match channel {
        "std" => {
            let (sender, receiver) = mpsc::sync_channel(CAPACITY);
            let send = move |message| sender.send(message).is_ok();
            between_threads::<CHECKED>(send, || receiver.recv().ok(), limit)
        }
        "crossbeam" => {
            let (sender, receiver) = crossbeam_channel::bounded(CAPACITY);
            let send = move |message| sender.send(message).is_ok();
            between_threads::<CHECKED>(send, || receiver.recv().ok(), limit)
        }
        "queue" => {
            let queue = Queue::default();
            let send = |message| {
                queue.send(message);
                true
            };
            between_threads::<CHECKED>(send, || Some(queue.receive()), limit)
        }
        "pipe" => {
            let (mut reader, mut writer) = std::io::pipe()?;
            let send = move |message: Message| {
                let bytes = message.map(u64::to_ne_bytes);
                writer.write_all(bytes.as_flattened()).is_ok()
            };
            let receive = || {
                let mut bytes = [[0; 8]; 8];
                reader.read_exact(bytes.as_flattened_mut()).ok()?;
                Some(bytes.map(u64::from_ne_bytes))
            };
            between_threads::<CHECKED>(send, receive, limit)
        }
        "tokio" => {
            let runtime = runtime::Builder::new_current_thread().build()?;
            runtime.block_on(between_tasks::<CHECKED>(limit))
        }
        other => bail!("no channel {other}"),
    }
}

/// A deque with a mutex and two condition variables.
#[derive(Default)]
struct Queue {
    messages: Mutex<VecDeque<Message>>,
    sent: Condvar,
    taken: Condvar,
}

impl Queue {
    fn send(&self, message: Message) {
        let mut messages = self.messages.lock().expect("no panic");
        while messages.len() >= CAPACITY {
            messages = self.taken.wait(messages).expect("no panic");
        }
        messages.push_back(message);
        drop(messages);
        self.sent.notify_one();
    }

    fn receive(&self) -> Message {
        let mut messages = self.messages.lock().expect("no panic");
        loop {
            if let Some(message) = messages.pop_front() {
                drop(messages);
                self.taken.notify_one();
                return message;
            }
            messages = self.sent.wait(messages).expect("no panic");
        }
    }
}

/// The message with this number; 0 is the last one.
fn message(number: u64) -> Message {
    [number, 0, 0, 0, 0, 0, 0, 0]
}

fn between_threads<const CHECKED: bool>(
    mut send: impl FnMut(Message) -> bool + Send,
    mut receive: impl FnMut() -> Option<Message>,
    limit: Duration,
) -> anyhow::Result<f64> {
    let stop = AtomicBool::new(false);
    // As many threads wait in the kernel as in the program. It finds the waiters of a futex by a hash, and a
    // wake-up takes a fifth longer if somebody else waits in the same place.
    for _ in 0..WAITING {
        thread::spawn(|| {
            loop {
                thread::park();
            }
        });
    }
    thread::scope(|scope| {
        let stop = &stop;
        let producer = scope.spawn(move || {
            let mut number = 0;
            while !stop.load(Relaxed) && send(message(number + 1)) {
                number += 1;
            }
            send(message(0));
            number
        });
        let mut consumer = Consumer::new(limit);
        while consumer.take::<CHECKED>(receive().context("the channel is closed")?, stop) {}
        consumer.mean_ns::<CHECKED>(producer.join().expect("no panic"))
    })
}

async fn between_tasks<const CHECKED: bool>(limit: Duration) -> anyhow::Result<f64> {
    let stop: &'static AtomicBool = Box::leak(Box::default());
    let (sender, mut receiver) = tokio::sync::mpsc::channel(CAPACITY);
    let producer = tokio::spawn(async move {
        let mut number = 0;
        while !stop.load(Relaxed) && sender.send(message(number + 1)).await.is_ok() {
            number += 1;
        }
        let _ = sender.send(message(0)).await;
        number
    });
    let consumer = tokio::spawn(async move {
        let mut consumer = Consumer::new(limit);
        while let Some(message) = receiver.recv().await
            && consumer.take::<CHECKED>(message, stop)
        {}
        consumer
    });
    consumer.await?.mean_ns::<CHECKED>(producer.await?)
}

/// What a consumer has seen.
struct Consumer {
    last: u64,
    count: u64,
    sum: u64,
    is_ordered: bool,
    limit: Duration,
    begun: Instant,
    blocks: u32,
    timed: u32,
    total: Duration,
}

impl Consumer {
    fn new(limit: Duration) -> Self {
        Self {
            last: 0,
            count: 0,
            sum: 0,
            is_ordered: true,
            limit,
            begun: Instant::now(),
            blocks: 0,
            timed: 0,
            total: Duration::ZERO,
        }
    }

    /// Takes a message; `false` if it is the last one.
    #[inline]
    fn take<const CHECKED: bool>(&mut self, message: Message, stop: &AtomicBool) -> bool {
        let [number, ..] = black_box(message);
        if number == 0 {
            return false;
        }
        if CHECKED {
            self.is_ordered &= number > self.last;
            self.last = number;
            self.sum += number;
        }
        self.count += 1;
        if self.count.is_multiple_of(BLOCK) {
            self.end_block(stop);
        }
        true
    }

    #[cold]
    fn end_block(&mut self, stop: &AtomicBool) {
        let now = Instant::now();
        self.blocks += 1;
        if self.blocks > WARMUPS && !stop.load(Relaxed) {
            self.total += now - self.begun;
            self.timed += 1;
            stop.store(self.total >= self.limit, Relaxed);
        }
        self.begun = now;
    }

    fn mean_ns<const CHECKED: bool>(&self, sent: u64) -> anyhow::Result<f64> {
        ensure!(
            self.timed > 0 && self.count == sent,
            "{sent} messages, of which {} arrived",
            self.count
        );
        let is_whole = self.is_ordered && self.sum == sent * (sent + 1) / 2;
        ensure!(!CHECKED || is_whole, "other messages arrived than were sent");
        Ok(self.total.as_nanos() as f64 / (u64::from(self.timed) * BLOCK) as f64)
    }
}
