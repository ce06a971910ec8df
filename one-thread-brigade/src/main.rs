//! The program as a separate binary; its page is `lib.rs`.

use one_thread_brigade::main;
