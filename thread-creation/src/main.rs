//! The program as a separate binary; its page is `lib.rs`.

use thread_creation::main;
