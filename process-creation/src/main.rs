//! The program as a separate binary; its page is `lib.rs`.

use process_creation::main;
