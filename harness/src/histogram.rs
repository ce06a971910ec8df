//! The distribution of samples, in nanoseconds, as an HdrHistogram. All memory
//! is allocated before the first sample, so that recording never allocates.
//! Values have three significant digits; those above [`HIGHEST_NS`] count as
//! `HIGHEST_NS`.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

/// The largest distinct sample: an hour, in nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// The longest encoded histogram accepted, in bytes; 10 KiB are usual, and a
/// histogram with all counts nonzero takes a few hundred.
pub const LONGEST_HISTOGRAM: usize = 512 * 1024;

const SIGNIFICANT_DIGITS: u8 = 3;

/// The most bytes that an encoded histogram may inflate to: the longest
/// encoding of a count at every position.
const LONGEST_INFLATED: usize = 1024 * 1024;

/// The most samples accepted: at one nanosecond each, a hundred days. Sums of
/// this many cannot overflow.
const MOST_SAMPLES: u64 = 1 << 53;

/// Reporting steps per halving of the distance to 100 %, as in HdrHistogram's
/// programs.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// A distribution of samples in nanoseconds.
#[derive(Clone, Debug)]
pub struct Histogram(Hdr<u64>);

/// Why a text is not a histogram.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Longer than any histogram of this precision.
    #[error("decoding a histogram: it has more than {LONGEST_HISTOGRAM} bytes")]
    TooLong,
    /// Not base64.
    #[error("decoding a histogram: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The base64 content cannot be inflated, or is too large.
    #[error("decoding a histogram: inflating it: {0:?}")]
    Deflate(TINFLStatus),
    /// Not a header of HdrHistogram's V2 encoding with three significant digits.
    #[error("decoding a histogram: it is not HdrHistogram's V2 with three significant digits")]
    Header,
    /// More samples than anyone can measure.
    #[error("decoding a histogram: it has more than {MOST_SAMPLES} samples")]
    TooManySamples,
    /// The data after the header are not counts.
    #[error("decoding a histogram: {0:?}")]
    Hdr(hdrhistogram::serialization::DeserializeError),
}

/// Length of the header in HdrHistogram's V2 encoding, in bytes.
const HEADER_BYTES: usize = 40;

/// Length of the prefix of the compressed data, in bytes: cookie and length.
const COMPRESSED_BYTES: usize = 8;

/// An unsigned number of 9 bytes of ones. As a run of zeros it would have the
/// length of the smallest signed number, which has no positive counterpart.
const NO_COUNT: [u8; 9] = [0xff; 9];

/// Whether these bytes begin with a header of HdrHistogram's V2 encoding with the precision of
/// [`Histogram`], as far as it determines the memory for decoding: big-endian, as the reference
/// implementation in Java writes it.
fn has_sound_header(bytes: &[u8]) -> bool {
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    word(4).is_some_and(|payload| payload as usize + HEADER_BYTES == bytes.len())
        && word(12) == Some(SIGNIFICANT_DIGITS.into())
        && long(16) == Some(1)
        && long(24).is_some_and(|highest| (2..=HIGHEST_NS).contains(&highest))
        && !bytes.windows(9).any(|window| window == NO_COUNT)
}

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

    /// Decodes the output of [`Histogram::encode`] from an untrusted source: in
    /// bounded memory, and only with the precision of this type.
    ///
    /// # Errors
    /// [`DecodeError`] if the text is too long, not base64, or contains
    /// something else.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        if text.len() > LONGEST_HISTOGRAM {
            return Err(DecodeError::TooLong);
        }
        let bytes = BASE64.decode(text)?;
        let inflated = match bytes.split_first_chunk::<COMPRESSED_BYTES>() {
            Some((_, deflated)) => decompress_to_vec_zlib_with_limit(deflated, LONGEST_INFLATED),
            None => return Err(DecodeError::Header),
        };
        let inflated = inflated.map_err(|error| DecodeError::Deflate(error.status))?;
        if !has_sound_header(&inflated) {
            return Err(DecodeError::Header);
        }
        let hdr: Hdr<u64> =
            Deserializer::new().deserialize(&mut &inflated[..]).map_err(DecodeError::Hdr)?;
        if hdr.len() > MOST_SAMPLES {
            return Err(DecodeError::TooManySamples);
        }
        Ok(Self(hdr))
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
    use base64::Engine as _;
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};
    use miniz_oxide::deflate::compress_to_vec_zlib;
    use proptest::prelude::*;

    use super::{
        BASE64, DecodeError, HIGHEST_NS, Hdr, Histogram, LONGEST_HISTOGRAM, LONGEST_INFLATED,
    };

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn a_sample_beyond_the_range_is_counted_not_lost() {
        let histogram = of([HIGHEST_NS * 2]);
        assert_eq!(histogram.count(), 1);
        assert!(histogram.percentile(100.0) >= HIGHEST_NS);
    }

    /// A cookie and a length of compressed data.
    const PREFIX: [u8; 8] = [0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 0];

    /// These bytes, deflated, as text.
    fn deflated(bytes: &[u8]) -> String {
        BASE64.encode([PREFIX.to_vec(), compress_to_vec_zlib(bytes, 6)].concat())
    }

    /// A histogram with few samples, before compression.
    fn plain() -> Vec<u8> {
        let mut bytes = Vec::new();
        let serialized = V2Serializer::new().serialize(&of([1, 200, 3_000_000]).0, &mut bytes);
        serialized.expect("to memory");
        bytes
    }

    /// The result of decoding those bytes after a change.
    fn decoded_with(change: impl FnOnce(&mut Vec<u8>)) -> Result<Histogram, DecodeError> {
        let mut bytes = plain();
        change(&mut bytes);
        Histogram::decode(&deflated(&bytes))
    }

    #[test]
    fn a_header_that_requires_much_memory_is_refused() {
        assert!(decoded_with(|_| ()).is_ok_and(|sound| sound.count() == 3));
        for at in [4, 12, 16, 24] {
            let decoded = decoded_with(|bytes| bytes[at] = 0x7f);
            assert!(matches!(decoded, Err(DecodeError::Header)), "byte {at}: {decoded:?}");
        }
        let digits = Hdr::<u64>::new_with_bounds(1, HIGHEST_NS, 5).expect("bounds");
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&digits, &mut bytes).expect("to memory");
        assert!(matches!(Histogram::decode(&deflated(&bytes)), Err(DecodeError::Header)));
    }

    #[test]
    fn data_that_inflate_too_much_are_refused() {
        let bomb = deflated(&vec![0; LONGEST_INFLATED + 1]);
        assert!(bomb.len() < 10_000);
        assert!(matches!(Histogram::decode(&bomb), Err(DecodeError::Deflate(_))));
        let long = "A".repeat(LONGEST_HISTOGRAM + 4);
        assert!(matches!(Histogram::decode(&long), Err(DecodeError::TooLong)));
    }

    /// Replaces the counts after the header.
    fn with_counts(bytes: &mut Vec<u8>, counts: &[u8]) {
        bytes.truncate(40);
        bytes.extend(counts);
        bytes[7] = u8::try_from(counts.len()).expect("few counts");
        bytes[4..7].fill(0);
    }

    #[test]
    fn impossible_counts_are_refused() {
        let decoded = decoded_with(|bytes| with_counts(bytes, &[0xff; 9]));
        assert!(matches!(decoded, Err(DecodeError::Header)), "{decoded:?}");
        let many = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff].repeat(3);
        let decoded = decoded_with(|bytes| with_counts(bytes, &many));
        assert!(matches!(decoded, Err(DecodeError::TooManySamples)), "{decoded:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_not(
            counts in prop::collection::vec(any::<u8>(), 0..200),
            edits in prop::collection::vec((0_usize..40, any::<u8>()), 0..3),
        ) {
            let decoded = decoded_with(|bytes| {
                with_counts(bytes, &counts);
                edits.iter().for_each(|(at, byte)| bytes[*at] = *byte);
            });
            if let Ok(histogram) = decoded {
                prop_assert!(histogram.percentile(50.0) <= histogram.percentile(99.0));
                prop_assert!(histogram.percentile_text().ends_with("]\n"));
            }
        }
    }
}
