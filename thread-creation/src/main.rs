//! The program by itself; its page is `lib.rs`.

fn main() -> std::process::ExitCode {
    thread_creation::main()
}
