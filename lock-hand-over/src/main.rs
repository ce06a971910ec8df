//! The program by itself; its page is `lib.rs`.

fn main() -> std::process::ExitCode {
    lock_hand_over::main()
}
