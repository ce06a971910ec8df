//! The graphs: nodes, messages between them, and counts that verify a lap.
//!
//! In a ring, the task spawned last runs next, followed by the node that it wakes: an executor that
//! keeps the last task in a special slot gains. The random walks of a pinball prevent that.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use anyhow::ensure;
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::channel::oneshot;

use crate::executors::Spawner;

/// Nodes that each message of a pinball visits.
pub const STEPS: u64 = 1000;

/// Values of `--graph`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// To the next node, until it has gone round
    Ring,
    /// To a random other node, 1000 times
    Pinball,
}

/// A graph and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graph {
    pub shape: Shape,
    pub nodes: u64,
    pub messages: u64,
    /// Nodes that each message visits.
    pub steps: u64,
}

impl Graph {
    /// The expected counts of a lap.
    fn expected(self) -> Counts {
        let hops = self.messages * self.steps;
        Counts { hops, home: self.messages, ended: hops + self.nodes }
    }

    /// Tasks spawned per lap: a send for each hop, and the nodes.
    pub fn spawns(self) -> u64 {
        self.expected().ended
    }

    /// The nodes, not yet running, and a receiver for the counts.
    pub fn nodes(self) -> (Vec<Node>, oneshot::Receiver<Counts>) {
        let (driver, counts) = oneshot::channel();
        let [hops, home, ended] = [(); 3].map(|()| AtomicU64::new(0));
        let ledger = Arc::new(Ledger { hops, home, ended, driver: Some(driver) });
        let nodes = match self.shape {
            Shape::Ring => ring(self.nodes, &ledger),
            Shape::Pinball => pinball(self.nodes, self.messages, &ledger),
        };
        (nodes, counts)
    }
}

/// The counts of one iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Messages that a node received.
    pub hops: u64,
    /// Messages that completed their path.
    pub home: u64,
    /// Tasks that ran to their end.
    pub ended: u64,
}

impl Counts {
    /// Fails if the counts differ from those expected for the graph.
    pub fn verify(self, graph: Graph) -> anyhow::Result<()> {
        let expected = graph.expected();
        ensure!(self == expected, "{self:?}: {} nodes make {expected:?}", graph.nodes);
        Ok(())
    }
}

/// Counts events. Every task has a reference; when the last one ends or is
/// cancelled, the counts go to the driver.
pub struct Ledger {
    pub hops: AtomicU64,
    pub home: AtomicU64,
    pub ended: AtomicU64,
    driver: Option<oneshot::Sender<Counts>>,
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let counts = Counts {
            hops: *self.hops.get_mut(),
            home: *self.home.get_mut(),
            ended: *self.ended.get_mut(),
        };
        if let Some(driver) = self.driver.take() {
            // A driver that has ended needs no counts.
            let _ = driver.send(counts);
        }
    }
}

/// A message in flight.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// In a ring, the node that started it; in a pinball, the state of its random walk.
    pub origin: u64,
    /// Nodes visited so far.
    pub passed: u64,
}

/// The task that sends one message. If it is dropped before it runs, it closes
/// the channel: the lap ends with wrong counts instead of waiting for ever.
pub struct Delivery {
    message: Option<Message>,
    outbox: UnboundedSender<Message>,
    ledger: Arc<Ledger>,
}

impl Delivery {
    pub fn new(message: Message, outbox: &UnboundedSender<Message>, ledger: &Arc<Ledger>) -> Self {
        let (outbox, ledger) = (outbox.clone(), Arc::clone(ledger));
        Self { message: Some(message), outbox, ledger }
    }
}

impl Future for Delivery {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if let Some(message) = self.message.take() {
            // If the node is gone, the counts show it.
            let _ = self.outbox.unbounded_send(message);
            self.ledger.ended.fetch_add(1, Relaxed);
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

/// A node before it runs.
pub enum Node {
    Ring(RingNode),
    Pinball(PinballNode),
}

pub async fn run(node: Node, spawner: impl Spawner) {
    match node {
        Node::Ring(node) => node.run(spawner).await,
        Node::Pinball(node) => node.run(spawner).await,
    }
}

/// A node of a ring, which sends to the next one.
pub struct RingNode {
    number: u64,
    nodes: u64,
    inbox: UnboundedReceiver<Message>,
    outbox: UnboundedSender<Message>,
    ledger: Arc<Ledger>,
}

impl RingNode {
    fn send(&self, message: Message) -> Delivery {
        Delivery::new(message, &self.outbox, &self.ledger)
    }

    /// Receives a message, and returns it if it continues. After every node it is home if it came
    /// back to its origin.
    fn receive(&self, mut message: Message) -> Option<Message> {
        self.ledger.hops.fetch_add(1, Relaxed);
        message.passed += 1;
        if message.passed < self.nodes {
            return Some(message);
        }
        if message.origin == self.number {
            self.ledger.home.fetch_add(1, Relaxed);
        }
        None
    }

    /// Starts a message and passes on the others'. Each message arrives once, including its own.
    async fn run(mut self, spawner: impl Spawner) {
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
        self.ledger.ended.fetch_add(1, Relaxed);
    }
}

fn ring(nodes: u64, ledger: &Arc<Ledger>) -> Vec<Node> {
    let (outboxes, mut inboxes): (Vec<_>, Vec<_>) = (0..nodes).map(|_| unbounded()).unzip();
    // Node i sends into channel i and receives from the one before.
    inboxes.rotate_right(1);
    let node = |(number, (inbox, outbox))| {
        let ledger = Arc::clone(ledger);
        Node::Ring(RingNode { number, nodes, inbox, outbox, ledger })
    };
    (0..nodes).zip(inboxes.into_iter().zip(outboxes)).map(node).collect()
}

/// A node of a pinball, which sends to any other one.
pub struct PinballNode {
    number: usize,
    inbox: UnboundedReceiver<Message>,
    outboxes: Arc<[UnboundedSender<Message>]>,
    messages: u64,
    ledger: Arc<Ledger>,
}

impl PinballNode {
    /// The task that sends a message to one of the other nodes.
    fn send(&self, mut message: Message) -> Delivery {
        message.origin = next(message.origin);
        // Counted from this node, among the others.
        let others = self.outboxes.len() as u64 - 1;
        let ahead = 1 + (message.origin >> 32) % others;
        let to = (self.number + ahead as usize) % self.outboxes.len();
        Delivery::new(message, &self.outboxes[to], &self.ledger)
    }

    /// Receives a message, and returns it if it continues. The last message to end stops all nodes.
    fn receive(&self, mut message: Message) -> Option<Message> {
        self.ledger.hops.fetch_add(1, Relaxed);
        message.passed += 1;
        if message.passed < STEPS {
            return Some(message);
        }
        if self.ledger.home.fetch_add(1, Relaxed) + 1 == self.messages {
            self.close();
        }
        None
    }

    fn close(&self) {
        self.outboxes.iter().for_each(UnboundedSender::close_channel);
    }

    /// Starts its share of the messages and passes on others until the channels are closed.
    async fn run(mut self, spawner: impl Spawner) {
        let first = self.number as u64;
        for number in (first..self.messages).step_by(self.outboxes.len()) {
            // Any state but 0 keeps the generator going.
            spawner.start(self.send(Message { origin: number + 1, passed: 0 }));
        }
        while let Some(message) = self.inbox.next().await {
            if let Some(message) = self.receive(message) {
                spawner.start(self.send(message));
            }
        }
        self.ledger.ended.fetch_add(1, Relaxed);
    }
}

/// If a node is dropped early, it loses messages, so it stops all others: the lap ends with wrong
/// counts instead of waiting for ever.
impl Drop for PinballNode {
    fn drop(&mut self) {
        self.close();
    }
}

/// The next state of a random walk: xorshift64 of Marsaglia, "Xorshift RNGs" (2003), with the
/// shifts 13, 7, 17. The message carries it, so every lap on every executor walks the same paths.
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

fn pinball(nodes: u64, messages: u64, ledger: &Arc<Ledger>) -> Vec<Node> {
    let (outboxes, inboxes): (Vec<_>, Vec<_>) = (0..nodes).map(|_| unbounded()).unzip();
    let outboxes: Arc<[_]> = outboxes.into();
    let node = |(number, inbox)| {
        let (outboxes, ledger) = (Arc::clone(&outboxes), Arc::clone(ledger));
        Node::Pinball(PinballNode { number, inbox, outboxes, messages, ledger })
    };
    inboxes.into_iter().enumerate().map(node).collect()
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
            self.spawn(run(node, self.clone()));
        }

        fn start(&self, delivery: Delivery) {
            self.spawn(delivery);
        }
    }

    fn counts(graph: Graph, lost: u64) -> Counts {
        let mut pool = LocalPool::new();
        let spawner = Losing { spawner: pool.spawner(), started: Rc::default(), lost };
        let (ready, counts) = graph.nodes();
        for node in ready {
            spawner.start_node(node);
        }
        pool.run_until(counts).expect("every lap ends")
    }

    fn graph(shape: Shape, nodes: u64) -> Graph {
        let (messages, steps) = if shape == Shape::Ring { (nodes, nodes) } else { (2, STEPS) };
        Graph { shape, nodes, messages, steps }
    }

    #[test]
    fn every_message_comes_home_after_one_hop_per_node() {
        for nodes in [1, 2, 3, 10] {
            let ring = graph(Shape::Ring, nodes);
            assert_eq!(ring.spawns(), nodes * nodes + nodes);
            counts(ring, 0).verify(ring).expect("as it must be");
        }
    }

    #[test]
    fn a_lost_task_ends_the_lap_and_fails_the_run() {
        for lost in 1..=20 {
            for (shape, ended) in [(Shape::Ring, "ended: 20 }"), (Shape::Pinball, "ended: 2004 }")]
            {
                let graph = graph(shape, 4);
                let error = counts(graph, lost).verify(graph).expect_err("a task is missing");
                assert!(error.to_string().ends_with(ended), "{lost}: {error}");
            }
        }
    }

    /// The first output of Marsaglia's generator from state 1, by hand: 1 ^ 1 << 13 is 0x2001; ^
    /// that >> 7 is 0x2041; ^ that << 17 is 0x40822041.
    #[test]
    fn the_walk_uses_marsaglias_generator() {
        assert_eq!(next(1), 0x4082_2041);
    }
}
