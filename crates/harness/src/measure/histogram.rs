//! The distribution of samples, in nanoseconds, as an HdrHistogram. All memory
//! is allocated before the first sample, so that recording never allocates.
//! Values have three significant digits; those above [`HIGHEST_NS`] count as
//! `HIGHEST_NS`.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// The largest distinct sample: an hour, in nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// Reporting steps per halving of the distance to 100 %, as in HdrHistogram's
/// programs.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// The memory of a distribution, rounded up, in bytes: 264 KiB, which the allocator maps separately.
pub const BYTES: u64 = 272 << 10;

/// A distribution of samples in nanoseconds.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// A distribution without samples.
///
/// # Panics
/// Never: HdrHistogram takes these bounds.
pub fn empty() -> Histogram {
    Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS).expect("the bounds are constants")
}

/// HdrHistogram's V2 encoding, deflated, in base64.
///
/// # Panics
/// Never: writing to memory does not fail.
pub fn encode(histogram: &Histogram) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram serializes to memory");
    BASE64.encode(bytes)
}

/// HdrHistogram's percentile text, which its plotters load: a header, one
/// line per step towards 100 % with value (nanoseconds), percentile (0 to
/// 1), samples so far and 1/(1 − percentile), and a footer.
pub fn percentile_text(histogram: &Histogram) -> String {
    let mut text = String::from("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    let mut reached = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        reached += step.count_since_last_iteration();
        let percentile = step.quantile_iterated_to();
        let value = step.value_iterated_to() as f64;
        let _ = write!(text, "{value:12.3} {percentile:14.12} {reached:10}");
        if percentile < 1.0 {
            let _ = write!(text, " {:14.2}", 1.0 / (1.0 - percentile));
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n\
         #[Max     = {:12.3}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {:12}]\n",
        histogram.mean(),
        histogram.stdev(),
        histogram.max() as f64,
        histogram.len(),
        histogram.buckets(),
        2048,
    );
    text
}
