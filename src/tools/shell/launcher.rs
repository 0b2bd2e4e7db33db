//! A program that is the launcher of commands and nothing else. The hive is its own launcher; this one is for programs
//! that have the tool without the hive, as the tests of this crate are.

fn main() -> std::process::ExitCode {
    tools::shell::confine::main(std::env::args_os().skip(1))
}
