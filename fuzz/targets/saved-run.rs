//! Entry point of libFuzzer for `fuzz::saved_run`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::saved_run::check(input));
