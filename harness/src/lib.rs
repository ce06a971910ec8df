//! What every Brigade program shares.

pub mod record;
