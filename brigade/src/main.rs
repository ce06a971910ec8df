//! See the library; compiled apart, it need not wait until all programs are.

fn main() -> std::process::ExitCode {
    brigade::main()
}
