//! libFuzzer's way to `fuzz::laps`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::laps::check(input));
