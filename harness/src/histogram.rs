//! The distribution of samples, in nanoseconds, as an HdrHistogram.
//!
//! It is allocated whole before the first sample, so that recording one never
//! allocates. Values are kept to three significant digits; those above
//! [`HIGHEST_NS`] count as `HIGHEST_NS`.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// The largest sample that is told apart from larger ones: an hour, in
/// nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// The longest encoded histogram that is read, in bytes; 10 KiB are usual, and
/// one with every count different from 0 has some hundred.
pub const LONGEST_HISTOGRAM: usize = 512 * 1024;

const SIGNIFICANT_DIGITS: u8 = 3;

/// Reporting steps per halving of the distance to 100 %, as HdrHistogram's own
/// programs use.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// A distribution of samples in nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram(Hdr<u64>);

/// Why a text is not a histogram.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not base64.
    #[error("decoding a histogram: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not HdrHistogram's V2 + deflate.
    #[error("decoding a histogram: {0:?}")]
    Hdr(hdrhistogram::serialization::DeserializeError),
}

impl Default for Histogram {
    fn default() -> Self {
        let hdr = Hdr::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS);
        Self(hdr.expect("the bounds are constants that HdrHistogram takes"))
    }
}

impl Histogram {
    /// Takes in one sample, in nanoseconds.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value that `percent` (0 to 100) of the samples do not exceed, in
    /// nanoseconds; 0 without samples.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> u64 {
        self.0.value_at_percentile(percent)
    }

    /// HdrHistogram's V2 encoding, deflated, in base64.
    ///
    /// # Panics
    /// Never: writing to memory does not fail.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("a histogram serializes to memory");
        BASE64.encode(bytes)
    }

    /// Reads what [`Histogram::encode`] wrote.
    ///
    /// # Errors
    /// [`DecodeError`] when the text is not base64 or holds something else.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let bytes = BASE64.decode(text)?;
        let hdr = Deserializer::new().deserialize(&mut &bytes[..]).map_err(DecodeError::Hdr)?;
        Ok(Self(hdr))
    }

    /// HdrHistogram's percentile text, which its plotters load: a header, one
    /// line for each step towards 100 % with value (nanoseconds), percentile
    /// (0 to 1), samples up to there and 1/(1 − percentile), and a footer.
    #[must_use]
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
    use super::{HIGHEST_NS, Histogram};

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn what_is_encoded_decodes_to_the_same_percentiles() {
        let histogram = of((1..=10_000).map(|n| n * n));
        let decoded = Histogram::decode(&histogram.encode()).expect("own encoding");
        assert_eq!(decoded.count(), 10_000);
        for percent in [0.0, 50.0, 90.0, 99.0, 99.9, 100.0] {
            assert_eq!(decoded.percentile(percent), histogram.percentile(percent), "{percent}");
        }
    }

    #[test]
    fn percentiles_keep_three_digits() {
        let p50 = of(1..=1_000_000).percentile(50.0) as f64;
        assert!((p50 / 500_000.0 - 1.0).abs() < 0.001, "{p50}");
    }

    #[test]
    fn a_sample_beyond_the_range_is_counted_not_lost() {
        let histogram = of([HIGHEST_NS * 2]);
        assert_eq!(histogram.count(), 1);
        assert!(histogram.percentile(100.0) >= HIGHEST_NS);
    }

    #[test]
    fn nonsense_does_not_decode() {
        assert!(Histogram::decode("not base64!").is_err());
        assert!(Histogram::decode("aGVsbG8=").is_err());
    }

    #[test]
    fn the_percentile_text_has_the_header_and_columns_that_plotters_expect() {
        let text = of([100, 200, 200, 400]).percentile_text();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
        assert_eq!(lines[1], "");
        let rows: Vec<Vec<f64>> = lines[2..]
            .iter()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                line.split_whitespace().map(|cell| cell.parse().expect("a number")).collect()
            })
            .collect();
        assert_eq!(rows[0], [100.0, 0.0, 1.0, 1.0]);
        assert_eq!(rows.last().expect("rows")[..], [400.0, 1.0, 4.0]);
        assert!(rows.windows(2).all(|pair| pair[0][2] <= pair[1][2]), "{text}");
        assert!(text.contains("Total count    =            4]"), "{text}");
    }
}
