//! `hive fetch`: a page, asked as the tool does, and the way there.

use std::process::ExitCode;

use anyhow::Result;
use net::fetch::{Body, FetchRules, Fetcher, Request, Trace};
use net::guard::Allowlist;

use super::{block_on, print};

pub(super) fn run(url: &str, show_trace: bool) -> Result<ExitCode> {
    let mut trace = Trace::default();
    let asked = Request { url: url.to_owned(), ..Request::default() };
    let fetched = block_on(async {
        Ok(Fetcher::new(FetchRules::default()).fetch(asked, &Allowlist::Anywhere, &mut trace).await)
    })?;
    if show_trace {
        print(trace.to_string().trim_end())?;
    }
    let fetched = fetched?;
    if !show_trace {
        print(&match fetched.body {
            Body::Text(text) => text,
            Body::File { bytes, name } => format!("a file of {} bytes: {name}", bytes.len()),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
