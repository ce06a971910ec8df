//! The program as a separate binary; its page is `lib.rs`.

fn main() -> std::process::ExitCode {
    echo_server::main()
}
