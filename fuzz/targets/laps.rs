//! Entry point of libFuzzer for `fuzz::laps`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::laps::check(input));
