//! The machine for one test alone.

use std::fs::File;

/// The machine, held by a test until this is dropped.
#[derive(Debug)]
pub struct Alone(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

/// Waits until no other test holds the machine, in this process or another of
/// this workspace, and holds it: for tests that make floods of tasks, or measure
/// what others would disturb. Those that do not ask for it run on.
pub fn alone() -> Alone {
    // A file that is there, which any user may open and nobody writes to.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let file = File::open(path).and_then(|file| file.lock().map(|()| file));
    Alone(file.unwrap_or_else(|error| panic!("locking {path}: {error}")))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, TryLockError};

    #[test]
    fn two_tests_do_not_hold_the_machine_at_once() {
        let other = || File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let other = other().expect("the manifest");
        let held = super::alone();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
    }
}
