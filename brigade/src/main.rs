//! The binary `brigade`; what it does is in the library beside it.

fn main() -> std::process::ExitCode {
    brigade::main()
}
