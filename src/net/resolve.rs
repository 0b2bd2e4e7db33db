//! From a name to its addresses.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use futures::FutureExt;
use futures::future::BoxFuture;

/// Knows what names mean. What it says is judged by the guard, whoever says it.
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of a name: lower case, without a dot at its end.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver: its hosts file, its name servers.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move {
            let mut addresses: Vec<IpAddr> = Vec::new();
            for found in tokio::net::lookup_host((name, 0)).await? {
                if !addresses.contains(&found.ip()) {
                    addresses.push(found.ip());
                }
            }
            Ok(addresses)
        }
        .boxed()
    }
}

/// A fixed table: nothing is asked.
#[derive(Clone, Debug, Default)]
pub struct FixedResolver(pub BTreeMap<String, Vec<IpAddr>>);

impl Resolve for FixedResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let known = self.0.get(name).cloned();
        async move { known.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name is not in the table")) }
            .boxed()
    }
}
