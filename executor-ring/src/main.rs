//! The program by itself; its page is `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    executor_ring::main()
}
