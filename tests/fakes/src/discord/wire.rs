//! Connections that a test can cut, and a port that can go away and come back.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// One client's connection, to be cut.
#[derive(Clone, Debug)]
pub(super) struct Line(CancellationToken);

impl Line {
    /// Ends the connection without another byte.
    pub(super) fn cut(&self) {
        self.0.cancel();
    }
}

/// The switch of a port: whether anybody listens there, and all its connections.
#[derive(Debug)]
pub(super) struct Switch {
    online: watch::Sender<bool>,
    lines: Mutex<CancellationToken>,
}

impl Switch {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Switch { online: watch::Sender::new(true), lines: Mutex::new(CancellationToken::new()) })
    }

    /// Cuts every connection and refuses new ones.
    pub(super) fn off(&self) {
        self.online.send_replace(false);
        std::mem::take(&mut *self.lines.lock().expect("not poisoned")).cancel();
    }

    /// Listens again.
    pub(super) fn on(&self) {
        self.online.send_replace(true);
    }

    fn line(&self) -> Line {
        Line(self.lines.lock().expect("not poisoned").child_token())
    }
}

/// A listener behind a [`Switch`].
pub(super) struct Port {
    address: SocketAddr,
    listener: Option<TcpListener>,
    switch: Arc<Switch>,
}

impl Port {
    /// A free port of the loopback interface.
    pub(super) async fn open(switch: Arc<Switch>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        Ok(Port { address: listener.local_addr()?, listener: Some(listener), switch })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Listener for Port {
    type Io = Cuttable;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Cuttable, SocketAddr) {
        let mut online = self.switch.online.subscribe();
        loop {
            if !*online.borrow_and_update() {
                self.listener = None;
                // The sender lives in the switch, which we hold.
                online.changed().await.expect("the switch is still there");
                continue;
            }
            let Some(listener) = &self.listener else {
                match TcpListener::bind(self.address).await {
                    Ok(listener) => self.listener = Some(listener),
                    // The port is ours again as soon as the old connections are gone.
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
                continue;
            };
            tokio::select! {
                biased;
                _ = online.changed() => {}
                accepted = listener.accept() => if let Ok((stream, address)) = accepted {
                    // Small answers at once: a test does not want to wait for Nagle.
                    if stream.set_nodelay(true).is_ok() {
                        return (Cuttable::new(stream, self.switch.line()), address);
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

impl Connected<IncomingStream<'_, Port>> for Line {
    fn connect_info(stream: IncomingStream<'_, Port>) -> Self {
        stream.io().line.clone()
    }
}

/// A stream that ends when its [`Line`] is cut.
pub(super) struct Cuttable {
    stream: TcpStream,
    line: Line,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Cuttable {
    fn new(stream: TcpStream, line: Line) -> Self {
        let cut = Box::pin(line.0.clone().cancelled_owned());
        Cuttable { stream, line, cut }
    }

    fn intact(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.intact(context)?;
        Pin::new(&mut this.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.intact(context)?;
        Pin::new(&mut this.stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.intact(context)?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
