//! The program as a separate binary; its page is `lib.rs`.

use async_brigade::main;
