//! Contains no code: its `Cargo.toml` sets features.
