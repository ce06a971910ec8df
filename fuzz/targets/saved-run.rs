//! libFuzzer's way to `fuzz::saved_run`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::saved_run::check(input));
