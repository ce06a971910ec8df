//! libFuzzer's way to `fuzz::manifest`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::manifest::check(input));
