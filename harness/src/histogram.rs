//! The distribution of samples, in nanoseconds, as an HdrHistogram. All memory
//! is allocated before the first sample, so that recording never allocates.
//! Values have three significant digits; those above [`HIGHEST_NS`] count as
//! `HIGHEST_NS`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// The largest distinct sample: an hour, in nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// A distribution of samples in nanoseconds.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// One without samples.
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

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;

    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = empty();
        values.into_iter().for_each(|value| histogram.saturating_record(value));
        histogram
    }

    proptest! {
        #[test]
        fn another_reader_finds_the_same_distribution(
            samples in prop::collection::vec(any::<u64>(), 0..200),
        ) {
            let histogram = of(samples);
            let bytes = BASE64.decode(encode(&histogram)).expect("base64");
            let read = Deserializer::new().deserialize(&mut &bytes[..]);
            let read: Histogram = read.expect("HdrHistogram's V2, deflated");
            prop_assert_eq!(read.len(), histogram.len());
            for percent in [0.0, 50.0, 99.9, 100.0] {
                let found = read.value_at_percentile(percent);
                prop_assert_eq!(found, histogram.value_at_percentile(percent));
            }
        }
    }
}
