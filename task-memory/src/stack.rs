//! Touching a stack: writing to so much of it that the kernel must provide it.

use std::hint::black_box;

/// What a call below this one writes to, in bytes: less than a page, so that
/// no page is left out.
const FRAME_BYTES: usize = 2048;

/// What a task's stack must have besides what is touched, in bytes.
pub const MARGIN_BYTES: usize = 16 << 10;

/// Writes to the `bytes` of this thread's stack below the caller's frame.
pub fn touch(bytes: usize) {
    if bytes > 0 {
        let here = 0_u8;
        descend(std::ptr::from_ref(&here).addr(), bytes);
    }
}

/// Calls itself until the stack has grown by `bytes` since `top`.
#[inline(never)]
fn descend(top: usize, bytes: usize) {
    let mut frame = [1_u8; FRAME_BYTES];
    let bottom = black_box(&mut frame).as_ptr().addr();
    if top.saturating_sub(bottom) < bytes {
        descend(top, bytes);
    }
    // What follows the call keeps it from becoming a loop in one frame.
    black_box(&mut frame);
}
