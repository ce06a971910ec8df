//! Servers with a task of an async runtime per connection.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use async_executor::LocalExecutor;
use async_io::Async;
use compio::BufResult;
use compio::runtime::fd::PollFd;
use harness::runtime::with_workers;
use rustix::io::ioctl_fionbio;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::runtime::Builder;

use crate::Kind;
use crate::server::{Desk, Server, accept, is_end};

/// Tokio, on one thread or with workers.
pub fn tokio(server: Server, kind: Kind) -> io::Result<()> {
    if kind == Kind::TokioCurrentThread {
        return Builder::new_current_thread().enable_io().build()?.block_on(tokio_tasks(server));
    }
    let mut builder = Builder::new_multi_thread();
    builder.enable_io();
    let runtime = with_workers(builder, server.workers)?;
    runtime.block_on(runtime.spawn(tokio_tasks(server)))?
}

async fn tokio_tasks(server: Server) -> io::Result<()> {
    ioctl_fionbio(&server.listener, true)?;
    // SAFETY: the registration owns the socket, so its number stays valid.
    let listener = unsafe { AsyncFd::register(server.listener) }?;
    let mut tasks = Vec::with_capacity(server.connections);
    for _ in 0..server.connections {
        let accept = |listener: &OwnedFd| accept(listener, server.is_tcp);
        let socket = listener.async_io(tokio::io::Interest::READABLE, accept).await?;
        ioctl_fionbio(&socket, true)?;
        let socket = OwnedFd::from(socket);
        tasks.push(if server.is_tcp {
            let stream = tokio::net::TcpStream::from_std(TcpStream::from(socket))?;
            tokio::spawn(tokio_echo(stream, server.desk))
        } else {
            let stream = tokio::net::UnixStream::from_std(UnixStream::from(socket))?;
            tokio::spawn(tokio_echo(stream, server.desk))
        });
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn tokio_echo(mut stream: impl AsyncRead + AsyncWrite + Unpin, desk: Desk) -> io::Result<()> {
    let mut message = desk.buffer();
    loop {
        match stream.read_exact(&mut message).await {
            Err(error) if is_end(&error) => return Ok(()),
            read => read?,
        };
        desk.serve(&message);
        stream.write_all(&message).await?;
    }
}

/// async-executor with async-io, on one thread.
pub fn async_executor(server: &Server) -> io::Result<()> {
    let executor = LocalExecutor::new();
    async_io::block_on(executor.run(async {
        let listener = Async::new(server.listener.try_clone()?)?;
        let mut tasks = Vec::with_capacity(server.connections);
        for _ in 0..server.connections {
            let socket = listener.read_with(|listener| accept(listener, server.is_tcp)).await?;
            tasks.push(executor.spawn(async_io_echo(Async::new(socket)?, server.desk)));
        }
        for task in tasks {
            task.await?;
        }
        Ok(())
    }))
}

async fn async_io_echo(socket: Async<File>, desk: Desk) -> io::Result<()> {
    let mut message = desk.buffer();
    loop {
        let mut done = 0;
        while done < message.len() {
            match socket.read_with(|mut socket| socket.read(&mut message[done..])).await {
                Ok(0) => return Ok(()),
                Err(error) if is_end(&error) => return Ok(()),
                read => done += read?,
            }
        }
        desk.serve(&message);
        done = 0;
        while done < message.len() {
            done += socket.write_with(|mut socket| socket.write(&message[done..])).await?;
        }
    }
}

/// Compio, on one thread over io_uring.
pub fn compio(server: Server) -> io::Result<()> {
    compio::runtime::Runtime::new()?.block_on(async {
        ioctl_fionbio(&server.listener, true)?;
        let poll = PollFd::new(server.listener.try_clone()?)?;
        let mut tasks = Vec::with_capacity(server.connections);
        for _ in 0..server.connections {
            let socket = loop {
                match server.accept() {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        poll.accept_ready().await?;
                    }
                    accepted => break OwnedFd::from(accepted?),
                }
            };
            tasks.push(if server.is_tcp {
                let stream = compio::net::TcpStream::from_std(TcpStream::from(socket))?;
                compio::runtime::spawn(compio_echo(stream, server.desk))
            } else {
                let stream = compio::net::UnixStream::from_std(UnixStream::from(socket))?;
                compio::runtime::spawn(compio_echo(stream, server.desk))
            });
        }
        for task in tasks {
            task.await.map_err(|_| io::Error::other("a task panicked"))??;
        }
        Ok(())
    })
}

async fn compio_echo(
    mut stream: impl compio::io::AsyncRead + compio::io::AsyncWrite,
    desk: Desk,
) -> io::Result<()> {
    use compio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut message = desk.buffer();
    loop {
        let BufResult(read, received) = stream.read_exact(message).await;
        match read {
            Err(error) if is_end(&error) => return Ok(()),
            read => read?,
        }
        desk.serve(&received);
        let BufResult(sent, back) = stream.write_all(received).await;
        sent?;
        message = back;
    }
}
