//! The program as a separate binary; its page is `lib.rs`.

use executor_ring::main;
