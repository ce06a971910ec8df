//! libFuzzer's way to `fuzz::resume`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::resume::check(input));
