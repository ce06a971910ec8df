//! Writes folders of runs on a thousand hosts that are made up, to try what reads many:
//! `cargo run -p brigade --example made-up-fleet -- FOLDER [HOSTS [SLOW [SEED]]]`.

use std::path::Path;

#[path = "../tests/cli/fleet.rs"]
mod fleet;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, otherwise: usize| {
        words.get(place).and_then(|word| word.parse().ok()).unwrap_or(otherwise)
    };
    let Some(folder) = words.first() else {
        eprintln!("made-up-fleet: name the folder that receives the folders of runs");
        std::process::exit(2);
    };
    let fleet = fleet::Fleet {
        hosts: number(1, 1000),
        slow: number(2, 20),
        slower: 1.1,
        cases: 12,
        rounds: 10,
        seed: number(3, 1) as u64,
        date: "2026-11-23",
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fleet.write(&root, Path::new(folder))
}
