//! The program by itself; its page is `lib.rs`.

fn main() -> std::process::ExitCode {
    executor_ring::main()
}
