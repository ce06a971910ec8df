//! The ring: nodes, messages between them, the measured loop, and counts that verify a lap.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{self, Poll};

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::channel::oneshot::{self, Canceled, Receiver};
use harness::{Bench, Measured};

/// Passes messages round, lap after lap, with tasks spawned by `spawner`. `wait` makes the executor
/// wait for the counts. A lap's nodes are created before it begins.
pub fn drive(
    bench: &Bench,
    spawner: &impl Spawner,
    mut wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
) -> anyhow::Result<()> {
    let count = bench.tasks();
    let spawns = Measured::per_task("iteration", "spawn", count * count + count);
    let mut next = nodes(count);
    for lap in bench.laps(&[spawns]) {
        let (nodes, counts) = next;
        for node in nodes {
            spawner.start_node(node);
        }
        let counts = wait(counts);
        lap.finish();
        counts.context("waiting for all nodes to end")?.verify(count)?;
        next = self::nodes(count);
    }
    bench.observe()
}

/// Spawns tasks and detaches them. There is a method for each of the two types of tasks in a ring,
/// so that nothing is boxed, and multi-threaded executors can require `Send`.
pub trait Spawner: Clone + 'static {
    /// Spawns a node.
    fn start_node(&self, node: Node);

    /// Spawns a send.
    fn start(&self, delivery: Delivery);
}

/// The counts of one iteration.
#[derive(Debug, Default)]
pub struct Counts {
    /// Messages that a node received.
    hops: AtomicU64,
    /// Messages that went all the way round.
    home: AtomicU64,
    /// Tasks that ran to their end.
    ended: AtomicU64,
}

impl Counts {
    /// Fails if they are not those of a ring of this many nodes. Every task that ended was spawned.
    fn verify(&self, nodes: usize) -> anyhow::Result<()> {
        let home = nodes as u64;
        let hops = home * home;
        let counted = [&self.hops, &self.home, &self.ended].map(|count| count.load(Relaxed));
        let expected = [hops, home, hops + home];
        ensure!(counted == expected, "{self:?}: {nodes} nodes make {expected:?}");
        Ok(())
    }
}

/// Counts events. Every task has a reference; when the last one ends or is
/// cancelled, the counts go to the driver.
struct Ledger {
    counts: Counts,
    driver: Option<oneshot::Sender<Counts>>,
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if let Some(driver) = self.driver.take() {
            // A driver that has ended needs no counts.
            let _ = driver.send(mem::take(&mut self.counts));
        }
    }
}

/// A message in flight.
#[derive(Clone, Copy)]
struct Message {
    /// The node that started it.
    origin: u64,
    /// Nodes visited so far.
    passed: u64,
}

/// The task that sends one message. If it is dropped before it runs, it closes
/// the channel: the lap ends with wrong counts instead of waiting for ever.
pub struct Delivery {
    message: Option<Message>,
    outbox: UnboundedSender<Message>,
    ledger: Arc<Ledger>,
}

impl Future for Delivery {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<()> {
        if let Some(message) = self.message.take() {
            // If the node is gone, the counts show it.
            let _ = self.outbox.unbounded_send(message);
            self.ledger.counts.ended.fetch_add(1, Relaxed);
        }
        Poll::Ready(())
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if self.message.is_some() {
            self.outbox.close_channel();
        }
    }
}

/// A node, which sends to the next one.
pub struct Node {
    number: u64,
    nodes: u64,
    inbox: UnboundedReceiver<Message>,
    outbox: UnboundedSender<Message>,
    ledger: Arc<Ledger>,
    /// Messages received, and those of them that went all the way round. They are added to the
    /// ledger once, since all workers share its cache line.
    hops: u64,
    home: u64,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.ledger.counts.hops.fetch_add(self.hops, Relaxed);
        self.ledger.counts.home.fetch_add(self.home, Relaxed);
    }
}

impl Node {
    fn send(&self, message: Message) -> Delivery {
        Delivery {
            message: Some(message),
            outbox: self.outbox.clone(),
            ledger: Arc::clone(&self.ledger),
        }
    }

    /// Receives a message, and returns it if it continues. After every node it is home if it came
    /// back to its origin.
    fn receive(&mut self, mut message: Message) -> Option<Message> {
        self.hops += 1;
        message.passed += 1;
        if message.passed < self.nodes {
            return Some(message);
        }
        if message.origin == self.number {
            self.home += 1;
        }
        None
    }

    /// Starts a message and passes on the others'. Each message arrives once, including its own.
    pub async fn run(mut self, spawner: impl Spawner) {
        spawner.start(self.send(Message { origin: self.number, passed: 0 }));
        for _ in 0..self.nodes {
            let Some(message) = self.inbox.next().await else {
                self.outbox.close_channel();
                return;
            };
            if let Some(message) = self.receive(message) {
                spawner.start(self.send(message));
            }
        }
        self.ledger.counts.ended.fetch_add(1, Relaxed);
    }
}

/// The nodes of a ring, not yet running, and a receiver for the counts.
fn nodes(count: usize) -> (Vec<Node>, Receiver<Counts>) {
    let (driver, counts) = oneshot::channel();
    let ledger = Arc::new(Ledger { counts: Counts::default(), driver: Some(driver) });
    let (outboxes, mut inboxes): (Vec<_>, Vec<_>) = (0..count).map(|_| unbounded()).unzip();
    // Node i sends into channel i and receives from the one before.
    inboxes.rotate_right(1);
    let node = |(number, (inbox, outbox))| {
        let ledger = Arc::clone(&ledger);
        Node { number, nodes: count as u64, inbox, outbox, ledger, hops: 0, home: 0 }
    };
    let nodes = (0..).zip(inboxes.into_iter().zip(outboxes)).map(node).collect();
    (nodes, counts)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use futures::executor::{LocalPool, LocalSpawner};
    use futures::task::LocalSpawnExt as _;

    use super::*;

    /// A spawner that drops the task with this number instead of spawning it.
    #[derive(Clone)]
    struct Losing {
        spawner: LocalSpawner,
        started: Rc<Cell<u64>>,
        lost: u64,
    }

    impl Losing {
        fn spawn(&self, task: impl Future<Output = ()> + 'static) {
            self.started.set(self.started.get() + 1);
            if self.started.get() != self.lost {
                self.spawner.spawn_local(task).expect("the pool runs");
            }
        }
    }

    impl Spawner for Losing {
        fn start_node(&self, node: Node) {
            self.spawn(node.run(self.clone()));
        }

        fn start(&self, delivery: Delivery) {
            self.spawn(delivery);
        }
    }

    #[test]
    fn a_lost_task_ends_the_lap_and_fails_the_run() {
        for (count, lost) in [(1, 0), (2, 0), (10, 0)].into_iter().chain((1..=20).map(|n| (4, n))) {
            let mut pool = LocalPool::new();
            let spawner = Losing { spawner: pool.spawner(), started: Rc::default(), lost };
            let (nodes, counts) = nodes(count);
            nodes.into_iter().for_each(|node| spawner.start_node(node));
            let counts = pool.run_until(counts).expect("every lap ends");
            assert_eq!(counts.verify(count).is_ok(), lost == 0, "{lost}: {counts:?}");
        }
    }
}
