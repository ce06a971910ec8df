//! The distribution of samples, in nanoseconds, as an HdrHistogram. All memory
//! is allocated before the first sample, so that recording never allocates.
//! Values have three significant digits; those above [`HIGHEST_NS`] count as
//! `HIGHEST_NS`.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// The largest distinct sample: an hour, in nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// The longest encoded histogram accepted, in bytes; 10 KiB are usual, and a
/// histogram with all counts nonzero takes a few hundred.
pub const LONGEST_HISTOGRAM: usize = 512 * 1024;

const SIGNIFICANT_DIGITS: u8 = 3;

/// Reporting steps per halving of the distance to 100 %, as in HdrHistogram's
/// programs.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// A distribution of samples in nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram(Hdr<u64>);

impl Default for Histogram {
    fn default() -> Self {
        let hdr = Hdr::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS);
        Self(hdr.expect("the bounds are constants that HdrHistogram takes"))
    }
}

impl Histogram {
    /// Adds one sample, in nanoseconds.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0 += &other.0;
    }

    /// Removes all samples, but keeps the memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value that `percent` (0 to 100) of the samples do not exceed, in
    /// nanoseconds; 0 without samples.
    pub fn percentile(&self, percent: f64) -> u64 {
        self.0.value_at_percentile(percent)
    }

    /// HdrHistogram's V2 encoding, deflated, in base64.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("a histogram serializes to memory");
        BASE64.encode(bytes)
    }

    /// HdrHistogram's percentile text, which its plotters load: a header, one
    /// line per step towards 100 % with value (nanoseconds), percentile (0 to
    /// 1), samples so far and 1/(1 − percentile), and a footer.
    pub fn percentile_text(&self) -> String {
        let mut text = String::from("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
        let mut reached = 0;
        for step in self.0.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
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
            self.0.mean(),
            self.0.stdev(),
            self.0.max() as f64,
            self.0.len(),
            self.0.buckets(),
            2048,
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    use super::{BASE64, Hdr, Histogram};
    use base64::Engine as _;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    proptest! {
        #[test]
        fn another_reader_finds_the_same_distribution(
            samples in prop::collection::vec(any::<u64>(), 0..200),
        ) {
            let histogram = of(samples);
            let bytes = BASE64.decode(histogram.encode()).expect("base64");
            let read = Deserializer::new().deserialize(&mut &bytes[..]);
            let read: Hdr<u64> = read.expect("HdrHistogram's V2, deflated");
            prop_assert_eq!(read.len(), histogram.count());
            for percent in [0.0, 50.0, 99.9, 100.0] {
                let found = read.value_at_percentile(percent);
                prop_assert_eq!(found, histogram.percentile(percent));
            }
            prop_assert!(histogram.percentile_text().ends_with("]\n"));
        }
    }
}
