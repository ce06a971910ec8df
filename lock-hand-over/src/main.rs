//! The program on its own; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    lock_hand_over::main()
}
