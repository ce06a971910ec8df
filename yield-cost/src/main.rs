//! The program as a separate binary; its page is `lib.rs`.

use yield_cost::main;
