//! The program as a separate binary; its page is `lib.rs`.

use coroutine_brigade::main;
