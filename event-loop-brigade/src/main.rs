//! The program as a separate binary; its page is `lib.rs`.

use event_loop_brigade::main;
