//! The program by itself; its page is `lib.rs`.

use channel_load::main;
