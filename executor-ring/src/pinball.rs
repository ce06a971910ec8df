//! The pinball: nodes of which each knows all others, and a few messages that are sent
//! from one to another at random.
//!
//! In a ring, the task that has just been spawned is the next to run, and the node that
//! it wakes comes after it: whatever keeps the last task in a slot of its own gains. A
//! walk that nobody can foresee takes that luck away.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};

use crate::graph::{self, Delivery, Ledger, Message};
use crate::spawners::Spawner;

/// Nodes that each message comes to.
pub const STEPS: u64 = 1000;

/// A node before it runs.
pub struct Node {
    number: usize,
    inbox: UnboundedReceiver<Message>,
    outboxes: Arc<[UnboundedSender<Message>]>,
    messages: u64,
    ledger: Arc<Ledger>,
}

impl Node {
    /// The task that sends a message to one of the other nodes.
    fn send(&self, mut message: Message) -> Delivery {
        message.origin = next(message.origin);
        // Of the others, so many after this one.
        let others = self.outboxes.len() as u64 - 1;
        let ahead = 1 + (message.origin >> 32) % others;
        let to = (self.number + ahead as usize) % self.outboxes.len();
        Delivery::new(message, &self.outboxes[to], &self.ledger)
    }

    /// Takes a message in, and returns it if it goes on. The last that ends ends all nodes.
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
}

/// A node that is no longer there loses messages, so all others end too: the lap ends
/// with wrong counts instead of waiting for ever.
impl Drop for Node {
    fn drop(&mut self) {
        self.close();
    }
}

/// What a node does: it starts its share of the messages and passes on what comes, until
/// the channels are closed.
pub async fn run(mut node: Node, spawner: impl Spawner) {
    let first = node.number as u64;
    for number in (first..node.messages).step_by(node.outboxes.len()) {
        // From any state but 0 the walk goes on.
        spawner.start(node.send(Message { origin: number + 1, passed: 0 }));
    }
    while let Some(message) = node.inbox.next().await {
        if let Some(message) = node.receive(message) {
            spawner.start(node.send(message));
        }
    }
    node.ledger.ended.fetch_add(1, Relaxed);
}

/// The state of a random walk after this one: xorshift64 of Marsaglia, "Xorshift RNGs"
/// (2003), with the shifts 13, 7, 17. The message carries it, so every lap of every
/// executor walks the same ways.
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

/// The nodes of a pinball.
pub fn nodes(nodes: u64, messages: u64, ledger: &Arc<Ledger>) -> Vec<graph::Node> {
    let (outboxes, inboxes): (Vec<_>, Vec<_>) = (0..nodes).map(|_| unbounded()).unzip();
    let outboxes: Arc<[_]> = outboxes.into();
    let node = |(number, inbox)| {
        let (outboxes, ledger) = (Arc::clone(&outboxes), Arc::clone(ledger));
        graph::Node::Pinball(Node { number, inbox, outboxes, messages, ledger })
    };
    inboxes.into_iter().enumerate().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::next;

    /// The first that Marsaglia's generator gives from state 1, worked by hand: 1 ^ 1 << 13
    /// is 0x2001; ^ that >> 7 is 0x2041; ^ that << 17 is 0x40822041.
    #[test]
    fn the_walk_is_the_generator_of_its_source() {
        assert_eq!(next(1), 0x4082_2041);
    }
}
