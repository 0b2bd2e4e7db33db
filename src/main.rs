//! The program `hive`: arguments → configuration → one command → exit code. See [`openhive::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    openhive::cli::main()
}
