//! Depth: how many calls lie between a task's body and its wait (`--depth`).
//!
//! A task with a stack goes down so many frames at each hop, waits there and comes back.
//! An async task awaits a chain of so many `async fn`, each the caller of the next, which
//! is in `async-mem-brigade`: what a chain costs is the compiler's doing, and so it is
//! written there.

use std::hint::black_box;

/// Bytes of stack that a frame takes at most, also in a debug build.
pub(crate) const MOST_FRAME_BYTES: usize = 512;

/// What `wait` returns, called once, from so many frames below.
///
/// # Panics
/// With `wait`.
#[inline]
pub fn below<T>(frames: u32, wait: impl FnOnce() -> T) -> T {
    if frames == 0 {
        return wait();
    }
    let (mut wait, mut returned) = (Some(wait), None);
    descend(frames, &mut || returned = wait.take().map(|wait| wait()));
    returned.expect("it was called")
}

/// One frame, and those below it. Compiled once, so that a frame is the same in every
/// program.
#[inline(never)]
fn descend(frames: u32, wait: &mut dyn FnMut()) {
    match frames {
        1 => wait(),
        _ => descend(frames - 1, wait),
    }
    // Without something left to do the call would become a jump.
    black_box(frames);
}

#[cfg(test)]
mod tests {
    use super::{MOST_FRAME_BYTES, below};

    /// How far below its caller's the frame of `wait` is, in bytes.
    fn distance(frames: u32) -> usize {
        let here = 0_u8;
        let there = below(frames, || {
            let local = 0_u8;
            (&raw const local).addr()
        });
        (&raw const here).addr() - there
    }

    #[test]
    fn every_level_is_a_frame_of_the_stack() {
        let [one, ten, hundred] = [1, 10, 100].map(distance);
        let frame = (hundred - ten) / 90;
        assert!((16..=MOST_FRAME_BYTES).contains(&frame), "{frame} bytes");
        assert_eq!(hundred - ten, 90 * frame);
        assert_eq!(ten - one, 9 * frame);
    }

    #[test]
    fn what_is_waited_for_comes_back() {
        assert_eq!([0, 1, 100].map(|frames| below(frames, || frames + 1)), [1, 2, 101]);
    }
}
