//! What measuring adds: `thread-switch --self` against a bare loop of the same
//! system calls on the same CPU.
//!
//! Prints the median of the ratios of pairs of runs, one after the other, and
//! its interval: the 4th and the 12th of 15 hold the median with a probability
//! of 96 %.

use std::io::{self, Read as _, Write as _};
use std::process::Command;
use std::time::Instant;

use harness::record::Record;
use harness::{cpus, placement};

/// Pairs of runs.
const PAIRS: usize = 15;
/// Writes and reads of a bare loop.
const PASSES: u32 = 200_000;
/// How long the program measures, in seconds.
const SECONDS: &str = "0.2";

fn main() {
    let cpu = cpus::allowed().expect("the CPUs of this process")[0];
    let list = cpu.to_string().parse().expect("a list");
    placement::Placement::apply(placement::Policy::SameCpu, Some(&list)).expect("its own CPU");
    let mut ratios: Vec<f64> = (0..PAIRS)
        .map(|pair| {
            // Whichever is first alternates.
            let (program, bare) = if pair % 2 == 0 {
                let program = program_ns();
                (program, bare_ns())
            } else {
                let bare = bare_ns();
                (program_ns(), bare)
            };
            program / bare
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let [median, low, high] = [7, 3, 11].map(|rank| ratios[rank]);
    println!("thread-switch --self over a bare loop: {median:.3} [{low:.3}, {high:.3}]");
}

/// A byte's way through a pipe by the program, in nanoseconds.
fn program_ns() -> f64 {
    let output = Command::new(env!("CARGO_BIN_EXE_thread-switch"))
        .args(["--self", "--via=pipe", "--json", "--iters=1000000000", "--max-time", SECONDS])
        .output()
        .expect("the program starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Record::parse(&text).expect("a record").principal().expect("a measurement").ns_per_operation
}

/// A byte's way through a pipe in a loop without anything else, in nanoseconds.
fn bare_ns() -> f64 {
    let (mut reader, mut writer) = io::pipe().expect("a pipe");
    let mut byte = [b'.'];
    let begun = Instant::now();
    for _ in 0..PASSES {
        writer.write_all(&byte).expect("room for a byte");
        reader.read_exact(&mut byte).expect("a byte");
    }
    begun.elapsed().as_nanos() as f64 / f64::from(PASSES)
}
