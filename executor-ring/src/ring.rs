//! The ring: nodes, the messages between them, and the count of what happened.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use anyhow::ensure;
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::channel::oneshot;

use crate::spawners::Spawner;

/// What happened in one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that a node received.
    pub hops: u64,
    /// Messages that came back to the node that started them, having passed
    /// every node once.
    pub home: u64,
    /// Tasks that ran to their end.
    pub ended: u64,
}

impl Counts {
    /// What must happen in a ring of `nodes` nodes.
    fn expected(nodes: u64) -> Self {
        Self { hops: nodes * nodes, home: nodes, ended: nodes * nodes + nodes }
    }

    /// Fails when anything else happened than must in a ring of `nodes` nodes.
    pub fn verify(self, nodes: u64) -> anyhow::Result<()> {
        let expected = Self::expected(nodes);
        ensure!(
            self == expected,
            "{} hops, {} messages home, {} tasks ended: a ring of {nodes} nodes makes {}, {}, {}",
            self.hops,
            self.home,
            self.ended,
            expected.hops,
            expected.home,
            expected.ended,
        );
        Ok(())
    }
}

/// Counts what happens. Every task holds it; when the last one lets go, ended
/// or cancelled, the counts go to the driver.
struct Ledger {
    hops: AtomicU64,
    home: AtomicU64,
    ended: AtomicU64,
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
            // A driver that has gone away asks for no counts.
            let _ = driver.send(counts);
        }
    }
}

/// A message on its way round.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// The node that started it.
    from: u64,
    /// Nodes that it has passed.
    passed: u64,
}

/// The task that sends one message. One that is dropped before it has run
/// closes the channel: the ring ends with wrong counts instead of waiting for
/// ever.
pub struct Delivery {
    message: Option<Message>,
    outbox: UnboundedSender<Message>,
    ledger: Arc<Ledger>,
}

impl Future for Delivery {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if let Some(message) = self.message.take() {
            // A node that is no longer there shows in the counts.
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
pub struct Node {
    number: u64,
    nodes: u64,
    inbox: UnboundedReceiver<Message>,
    outbox: UnboundedSender<Message>,
    ledger: Arc<Ledger>,
}

impl Node {
    fn send(&self, message: Message) -> Delivery {
        let (outbox, ledger) = (self.outbox.clone(), Arc::clone(&self.ledger));
        Delivery { message: Some(message), outbox, ledger }
    }

    /// Takes a message in, and returns it if it goes on.
    fn receive(&self, mut message: Message) -> Option<Message> {
        self.ledger.hops.fetch_add(1, Relaxed);
        message.passed += 1;
        if message.passed < self.nodes {
            return Some(message);
        }
        if message.from == self.number {
            self.ledger.home.fetch_add(1, Relaxed);
        }
        None
    }
}

/// What a node does: it starts a message and passes on those of the others.
/// Each of them comes by once, and so does its own.
pub async fn run(mut node: Node, spawner: impl Spawner) {
    spawner.start(node.send(Message { from: node.number, passed: 0 }));
    for _ in 0..node.nodes {
        let Some(message) = node.inbox.next().await else {
            node.outbox.close_channel();
            return;
        };
        if let Some(message) = node.receive(message) {
            spawner.start(node.send(message));
        }
    }
    node.ledger.ended.fetch_add(1, Relaxed);
}

/// A ring of nodes that do not run yet, and where its counts will come out.
pub fn ring(nodes: u64) -> (Vec<Node>, oneshot::Receiver<Counts>) {
    let (driver, counts) = oneshot::channel();
    let ledger = Arc::new(Ledger {
        hops: AtomicU64::new(0),
        home: AtomicU64::new(0),
        ended: AtomicU64::new(0),
        driver: Some(driver),
    });
    let (outboxes, mut inboxes): (Vec<_>, Vec<_>) = (0..nodes).map(|_| unbounded()).unzip();
    // Node i sends into channel i and receives from the one before.
    inboxes.rotate_right(1);
    let ends = inboxes.into_iter().zip(outboxes);
    let nodes = (0..nodes)
        .zip(ends)
        .map(|(number, (inbox, outbox))| {
            let ledger = Arc::clone(&ledger);
            Node { number, nodes, inbox, outbox, ledger }
        })
        .collect();
    (nodes, counts)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use futures::executor::{LocalPool, LocalSpawner};
    use futures::task::LocalSpawnExt as _;

    use super::*;

    /// A spawner that drops the task of this number instead of spawning it.
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

    fn counts(nodes: u64, lost: u64) -> Counts {
        let mut pool = LocalPool::new();
        let spawner = Losing { spawner: pool.spawner(), started: Rc::default(), lost };
        let (ready, counts) = ring(nodes);
        for node in ready {
            spawner.start_node(node);
        }
        pool.run_until(counts).expect("every ring ends")
    }

    #[test]
    fn every_message_comes_home_by_as_many_hops_as_there_are_nodes() {
        for nodes in [1, 2, 3, 10] {
            let expected =
                Counts { hops: nodes * nodes, home: nodes, ended: nodes * nodes + nodes };
            assert_eq!(counts(nodes, 0), expected);
            expected.verify(nodes).expect("as it must be");
        }
    }

    #[test]
    fn a_lost_task_ends_the_ring_and_fails_the_run() {
        for lost in 1..=20 {
            let error = counts(4, lost).verify(4).expect_err("a task is missing");
            assert!(error.to_string().ends_with("a ring of 4 nodes makes 16, 4, 20"), "{error}");
        }
    }
}
