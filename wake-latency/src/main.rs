//! The program as a separate binary; its page is `lib.rs`.

use wake_latency::main;
