//! Entry point of libFuzzer for `fuzz::histogram`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::histogram::check(input));
