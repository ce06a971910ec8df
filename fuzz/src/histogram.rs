//! Decodes a histogram, from the text in a record or from the bytes that such a
//! text inflates to, which lets the fuzzer get further.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use harness::histogram::Histogram;
use miniz_oxide::deflate::compress_to_vec_zlib;

/// Checks one input.
pub fn check(input: &[u8]) {
    if let Ok(text) = str::from_utf8(input) {
        check_text(text);
    }
    check_text(&deflated(input));
}

/// These bytes as the text of a record.
fn deflated(bytes: &[u8]) -> String {
    let cookie_and_length = [0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 0];
    BASE64.encode([&cookie_and_length, &compress_to_vec_zlib(bytes, 1)[..]].concat())
}

fn check_text(text: &str) {
    if let Ok(histogram) = Histogram::decode(text) {
        assert!(histogram.percentile(50.0) <= histogram.percentile(99.9));
        let _ = histogram.percentile_text();
        let again = Histogram::decode(&histogram.encode()).expect("own encoding");
        assert_eq!(again.count(), histogram.count());
    }
}
