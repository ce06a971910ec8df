//! The program by itself; its page is `lib.rs`.

fn main() -> std::process::ExitCode {
    event_loop_brigade::main()
}
