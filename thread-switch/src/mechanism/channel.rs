//! Channels of two libraries, one for each direction: `std`'s, whose sender
//! goes on at once, and crossbeam's with capacity 0, whose sender and receiver
//! meet.
//!
//! Crossbeam's sender wakes the receiver before it writes the message. A
//! receiver that runs at once yields until it is there.

use std::io;
use std::sync::mpsc;

use crate::side::{Side, hung_up};

/// Both directions of `std`'s channel.
pub struct Mpsc {
    sender: mpsc::Sender<()>,
    receiver: mpsc::Receiver<()>,
}

impl Side for Mpsc {
    fn hand_over(&mut self) -> io::Result<()> {
        self.sender.send(()).map_err(|_| hung_up())
    }

    fn wait(&mut self) -> io::Result<()> {
        self.receiver.recv().map_err(|_| hung_up())
    }
}

/// Two sides of a pair of `std`'s channels.
pub fn mpsc() -> (Mpsc, Mpsc) {
    let (there, back) = (mpsc::channel(), mpsc::channel());
    (Mpsc { sender: there.0, receiver: back.1 }, Mpsc { sender: back.0, receiver: there.1 })
}

/// Both directions of crossbeam's channel.
pub struct Rendezvous {
    sender: crossbeam_channel::Sender<()>,
    receiver: crossbeam_channel::Receiver<()>,
}

impl Side for Rendezvous {
    fn hand_over(&mut self) -> io::Result<()> {
        self.sender.send(()).map_err(|_| hung_up())
    }

    fn wait(&mut self) -> io::Result<()> {
        self.receiver.recv().map_err(|_| hung_up())
    }
}

/// Two sides of a pair of channels of capacity 0.
pub fn rendezvous() -> (Rendezvous, Rendezvous) {
    let (there, back) = (crossbeam_channel::bounded(0), crossbeam_channel::bounded(0));
    (
        Rendezvous { sender: there.0, receiver: back.1 },
        Rendezvous { sender: back.0, receiver: there.1 },
    )
}
