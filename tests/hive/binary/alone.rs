//! Temporary.
#[path = "mod.rs"]
mod binary;
fn main() {
    let args = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&args, binary::trials()).exit();
}
