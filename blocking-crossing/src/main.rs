//! The program as a separate binary; its page is `lib.rs`.

use blocking_crossing::main;
