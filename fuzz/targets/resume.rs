//! Entry point of libFuzzer for `fuzz::resume`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::resume::check(input));
