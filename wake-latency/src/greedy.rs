//! Tasks next to the sleepers that compute and rarely yield.

use std::io;
use std::time::Duration;

use harness::clock;
use harness::work::spend;

use crate::course::Announced;
use crate::flags::Flags;

/// Units of work between two readings of the clock: far less than a microsecond.
const UNITS: u64 = 100;

/// A greedy task: until the run is over, it computes for `--greedy-for` and then yields.
///
/// # Errors
/// None; the sleepers' have the same type.
pub async fn greedy(
    flags: Flags,
    announced: Announced,
    yield_now: impl AsyncFn(),
) -> io::Result<()> {
    let time_ns = Duration::from_micros(flags.greedy_for.into()).as_nanos() as u64;
    while announced.has_changed().is_ok() {
        let until_ns = clock::now() + time_ns;
        while clock::now() < until_ns {
            spend(UNITS);
        }
        yield_now().await;
    }
    Ok(())
}
