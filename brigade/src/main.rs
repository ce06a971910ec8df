//! The binary `brigade`; the library does the work.

fn main() -> std::process::ExitCode {
    brigade::main()
}
