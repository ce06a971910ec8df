//! Entry point of libFuzzer for `fuzz::manifest`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::manifest::check(input));
