//! The program by itself; its page is `lib.rs`.

use lock_hand_over::main;
