//! The program `hive`: arguments → configuration → one command → exit code. See [`openhive::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == tools::shell::Launcher::ARGUMENT) {
        // Not a command for people: this process confines itself and becomes a command of a tool.
        return tools::shell::confine::main(arguments);
    }
    openhive::cli::main()
}
