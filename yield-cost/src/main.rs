//! The program by itself; its page is `lib.rs`.

fn main() -> std::process::ExitCode {
    yield_cost::main()
}
