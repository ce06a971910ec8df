//! Progress of a long loop, on a terminal only, drawn between its iterations.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The least time between two updates, in nanoseconds.
const INTERVAL_NS: u64 = 100_000_000;

/// A progress bar; without a terminal it does nothing.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    drawn: u64,
}

impl Progress {
    pub(crate) fn new(visible: bool) -> Self {
        Self { bar: visible.then(ProgressBar::hidden), drawn: 0 }
    }

    /// Starts counting to `length`; `unit` is the unit of the count.
    pub(crate) fn begin(&mut self, length: u64, unit: &'static str) {
        let Some(bar) = &self.bar else { return };
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}, {eta} left");
        bar.set_style(style.expect("the template is a constant"));
        bar.set_message(unit);
        bar.set_length(length);
    }

    /// Shows that `left` remain, unless it was just updated. `now` is the
    /// clock's time.
    #[inline]
    pub(crate) fn show(&mut self, now: u64, left: u64) {
        let Some(bar) = &self.bar else { return };
        if now.saturating_sub(self.drawn) < INTERVAL_NS {
            return;
        }
        if self.drawn == 0 {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.drawn = now;
        bar.set_position(bar.length().unwrap_or(0).saturating_sub(left));
    }
}

impl Drop for Progress {
    /// Clears the line.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
