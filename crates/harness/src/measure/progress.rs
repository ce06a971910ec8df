//! Progress of a long loop, on a terminal only, drawn between its iterations.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// The least time between two updates, in nanoseconds.
const INTERVAL_NS: u64 = 100_000_000;

/// A progress bar, from its beginning on; without a terminal there is none.
#[derive(Debug)]
pub(crate) struct Progress {
    visible: bool,
    bar: Option<ProgressBar>,
    drawn: u64,
}

impl Progress {
    pub(crate) fn new(visible: bool) -> Self {
        Self { visible, bar: None, drawn: 0 }
    }

    /// Starts counting to `length`; `unit` is the unit of the count. The line is cleared in the end.
    pub(crate) fn begin(&mut self, length: u64, unit: &'static str) {
        if self.visible {
            let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}, {eta} left");
            let style = style.expect("the template is a constant");
            let bar = ProgressBar::new(length).with_style(style).with_message(unit);
            self.bar = Some(bar.with_finish(ProgressFinish::AndClear));
        }
    }

    /// Shows that `left` remain, unless it was just updated. `now` is the
    /// clock's time.
    #[inline]
    pub(crate) fn show(&mut self, now: u64, left: u64) {
        let Some(bar) = &self.bar else { return };
        if now.saturating_sub(self.drawn) < INTERVAL_NS {
            return;
        }
        self.drawn = now;
        bar.set_position(bar.length().unwrap_or(0).saturating_sub(left));
    }
}
