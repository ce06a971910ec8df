//! What a graph is made of: nodes, the messages between them, and the count of what
//! happened.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use anyhow::ensure;
use futures::channel::mpsc::UnboundedSender;
use futures::channel::oneshot;

use crate::spawners::Spawner;
use crate::{pinball, ring};

/// What `--graph` names, with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    /// So many nodes in a ring, each of which starts one message.
    Ring(u64),
    /// So many nodes, of which each knows all others, and so many messages.
    Pinball(u64, u64),
}

impl Graph {
    /// What must happen in it, lap by lap.
    pub fn expected(self) -> Counts {
        match self {
            Self::Ring(nodes) => {
                Counts { hops: nodes * nodes, home: nodes, ended: nodes * nodes + nodes }
            }
            Self::Pinball(nodes, messages) => {
                let hops = messages * pinball::STEPS;
                Counts { hops, home: messages, ended: hops + nodes }
            }
        }
    }

    /// Nodes that do not run yet, and where the counts will come out.
    pub fn nodes(self) -> (Vec<Node>, oneshot::Receiver<Counts>) {
        let (driver, counts) = oneshot::channel();
        let mut ledger = Ledger::default();
        ledger.driver = Some(driver);
        let ledger = Arc::new(ledger);
        let nodes = match self {
            Self::Ring(nodes) => ring::nodes(nodes, &ledger),
            Self::Pinball(nodes, messages) => pinball::nodes(nodes, messages, &ledger),
        };
        (nodes, counts)
    }
}

/// What happened in one iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that a node received.
    pub hops: u64,
    /// Messages that came to the end of their way.
    pub home: u64,
    /// Tasks that ran to their end.
    pub ended: u64,
}

impl Counts {
    /// Fails when anything else happened than must in such a graph.
    pub fn verify(self, graph: Graph) -> anyhow::Result<()> {
        let expected = graph.expected();
        let nodes = expected.ended - expected.hops;
        ensure!(
            self == expected,
            "{} hops, {} messages home, {} tasks ended: {nodes} nodes make {}, {}, {}",
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
#[derive(Default)]
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
            // A driver that has gone away asks for no counts.
            let _ = driver.send(counts);
        }
    }
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Of a ring, the node that started it; of a pinball, the state of its random walk.
    pub origin: u64,
    /// Nodes that it has passed.
    pub passed: u64,
}

/// The task that sends one message. One that is dropped before it has run
/// closes the channel: the lap ends with wrong counts instead of waiting for
/// ever.
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
pub enum Node {
    Ring(ring::Node),
    Pinball(pinball::Node),
}

/// What a node does.
pub async fn run(node: Node, spawner: impl Spawner) {
    match node {
        Node::Ring(node) => ring::run(node, spawner).await,
        Node::Pinball(node) => pinball::run(node, spawner).await,
    }
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

    fn counts(graph: Graph, lost: u64) -> Counts {
        let mut pool = LocalPool::new();
        let spawner = Losing { spawner: pool.spawner(), started: Rc::default(), lost };
        let (ready, counts) = graph.nodes();
        for node in ready {
            spawner.start_node(node);
        }
        pool.run_until(counts).expect("every lap ends")
    }

    #[test]
    fn every_message_comes_home_by_as_many_hops_as_there_are_nodes() {
        for nodes in [1, 2, 3, 10] {
            let expected =
                Counts { hops: nodes * nodes, home: nodes, ended: nodes * nodes + nodes };
            assert_eq!(counts(Graph::Ring(nodes), 0), expected);
            expected.verify(Graph::Ring(nodes)).expect("as it must be");
        }
    }

    #[test]
    fn a_lost_task_ends_the_lap_and_fails_the_run() {
        for lost in 1..=20 {
            for (graph, must) in [
                (Graph::Ring(4), "4 nodes make 16, 4, 20"),
                (Graph::Pinball(4, 2), "4 nodes make 2000, 2, 2004"),
            ] {
                let error = counts(graph, lost).verify(graph).expect_err("a task is missing");
                assert!(error.to_string().ends_with(must), "{lost}: {error}");
            }
        }
    }
}
