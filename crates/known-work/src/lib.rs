//! Work of known duration.
//!
//! A unit is one iteration of a loop in which each step depends on the one
//! before: its speed is that of one multiplication and one rotation in
//! sequence. A loop limited by the core's parallelism, such as an empty one,
//! takes twice as long while a hidden neighbour uses the core's other hardware
//! thread; this one does not.
//!
//! It is a crate because tests need it optimized, but not the harness, which compiles
//! four times as fast without.

use std::hint::black_box;

/// An odd number with well-distributed bits, from Knuth's MMIX generator.
const FACTOR: u64 = 6_364_136_223_846_793_005;

/// Does `units` of work. Compiled once, so that no program has a faster loop,
/// and written so that the optimization level hardly matters. Work that must not
/// begin before this work has ended can depend on the result.
#[inline(never)]
pub fn spend(units: u64) -> u64 {
    let mut state = units;
    let mut left = units;
    while left > 0 {
        state = state.wrapping_mul(FACTOR).rotate_left(7);
        left -= 1;
    }
    black_box(state)
}
