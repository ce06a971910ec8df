//! The program as a separate binary; its page is `lib.rs`.

use timer_cost::main;
