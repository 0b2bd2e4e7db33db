//! A program that does for tools what needs a process of its own, and nothing else. The hive does that with its own
//! program; this one is for programs that have the tools without the hive, as the tests of this crate are.

fn main() -> std::process::ExitCode {
    tools::process::main(std::env::args_os().skip(1)).unwrap_or(std::process::ExitCode::FAILURE)
}
