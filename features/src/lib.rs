//! No code: only its `Cargo.toml` matters.
