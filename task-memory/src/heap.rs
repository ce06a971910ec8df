//! Blocks of memory on the heap: what a task holds, and `--kind heap`, where
//! one block shows that address space is not memory.

use std::hint::black_box;

use harness::record::LedgerPoint;
use harness::{Amounts, Bench, Measured, limits};

use crate::reading;

/// The least distance of two writes that touch every page, in bytes.
const PAGE_BYTES: usize = 4096;

/// A block of which every byte was written to.
pub fn touched(bytes: usize) -> Box<[u8]> {
    vec![1; bytes].into()
}

/// Allocates and touches a block of so many bytes, again and again for the
/// times, and once more for the readings.
pub fn observe(bytes: usize, bench: &Bench) -> anyhow::Result<()> {
    let block = Amounts::heap(bytes as u64);
    limits::require(&limits::Need { tasks: 1, per_task: block, fixed: Amounts::default() })?;
    let pages = bytes.div_ceil(PAGE_BYTES) as u64;
    let touch = Measured { operations: pages, ..Measured::single("touch", "page") };
    for mut lap in bench.laps(&[Measured::single("allocate", "allocation"), touch]) {
        let mut block = allocate(bytes);
        lap.split();
        write_to_every_page(&mut block);
        lap.finish();
    }
    enter("start", bench);
    let mut block = allocate(bytes);
    enter("allocated", bench);
    write_to_every_page(&mut block);
    enter("touched", bench);
    bench.observe()?;
    drop(block);
    Ok(())
}

/// A block that was not written to: its capacity, not its length, is `bytes`.
fn allocate(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

fn write_to_every_page(block: &mut Vec<u8>) {
    for byte in block.spare_capacity_mut().iter_mut().step_by(PAGE_BYTES) {
        byte.write(1);
    }
    black_box(block);
}

fn enter(moment: &str, bench: &Bench) {
    bench
        .findings()
        .ledger
        .push(LedgerPoint { moment: Some(moment.into()), ..reading::read(0, &["self".into()]) });
}
