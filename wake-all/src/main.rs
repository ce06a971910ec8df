//! The program by itself; its page is `lib.rs`.

use wake_all::main;
