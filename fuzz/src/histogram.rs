//! Records samples and encodes them: HdrHistogram's own reader finds the same distribution.
//!
//! An input is the samples, eight bytes each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use harness::histogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Checks one input.
pub fn check(input: &[u8]) {
    let mut histogram = Histogram::default();
    let (samples, _) = input.as_chunks();
    samples.iter().for_each(|bytes| histogram.record(u64::from_le_bytes(*bytes)));
    let bytes = BASE64.decode(histogram.encode()).expect("base64");
    let read = Deserializer::new().deserialize(&mut &bytes[..]);
    let read: hdrhistogram::Histogram<u64> = read.expect("HdrHistogram's V2, deflated");
    assert_eq!(read.len(), histogram.count());
    for percent in [0.0, 50.0, 99.9, 100.0] {
        assert_eq!(read.value_at_percentile(percent), histogram.percentile(percent));
    }
    assert!(histogram.percentile_text().ends_with("]\n"));
}
