//! Nothing: its `Cargo.toml` is what it is there for.
