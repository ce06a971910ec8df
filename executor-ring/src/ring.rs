//! The ring: each node starts one message, which goes round once.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};

use crate::graph::{self, Delivery, Ledger, Message};
use crate::spawners::Spawner;

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
        Delivery::new(message, &self.outbox, &self.ledger)
    }

    /// Takes a message in, and returns it if it goes on. One that has passed every node
    /// is home if it came back to the node that started it.
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
}

/// What a node does: it starts a message and passes on those of the others.
/// Each of them comes by once, and so does its own.
pub async fn run(mut node: Node, spawner: impl Spawner) {
    spawner.start(node.send(Message { origin: node.number, passed: 0 }));
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

/// The nodes of a ring.
pub fn nodes(nodes: u64, ledger: &Arc<Ledger>) -> Vec<graph::Node> {
    let (outboxes, mut inboxes): (Vec<_>, Vec<_>) = (0..nodes).map(|_| unbounded()).unzip();
    // Node i sends into channel i and receives from the one before.
    inboxes.rotate_right(1);
    let ends = inboxes.into_iter().zip(outboxes);
    (0..nodes)
        .zip(ends)
        .map(|(number, (inbox, outbox))| {
            let ledger = Arc::clone(ledger);
            graph::Node::Ring(Node { number, nodes, inbox, outbox, ledger })
        })
        .collect()
}
