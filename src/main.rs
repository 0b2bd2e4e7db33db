//! The program `hive`: arguments → configuration → one command → exit code. See [`openhive::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    // Not a command for people: this process does one thing for a tool of a hive that has started it.
    tools::process::main(std::env::args_os().skip(1)).unwrap_or_else(openhive::cli::main)
}
