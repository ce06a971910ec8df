//! The program by itself; its page is `lib.rs`.

fn main() -> std::process::ExitCode {
    blocking_crossing::main()
}
