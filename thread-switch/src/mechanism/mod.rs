//! The mechanisms, each of which makes a pair of sides that hand over to each
//! other: the driver's, which has the turn first, and the partner's.

pub mod channel;
pub mod condvar;
pub mod eventfd;
pub mod park;
pub mod stream;
pub mod turn;
