//! Servers with a task of an async runtime per connection.

use std::io;

use async_executor::LocalExecutor;
use async_io::Async;
use compio::BufResult;
use harness::runtime::with_workers;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Builder;

use crate::Kind;
use crate::server::{Desk, Server, is_end};

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
    let mut tasks = Vec::with_capacity(server.connections);
    for connection in server.accept() {
        let connection = connection?;
        connection.set_nonblocking(true)?;
        let connection = tokio::net::TcpStream::from_std(connection)?;
        tasks.push(tokio::spawn(tokio_echo(connection, server.desk)));
    }
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn tokio_echo(mut connection: tokio::net::TcpStream, desk: Desk) -> io::Result<()> {
    let mut message = desk.buffer();
    loop {
        match connection.read_exact(&mut message).await {
            Err(error) if is_end(&error) => return Ok(()),
            read => read?,
        };
        desk.serve(&message);
        connection.write_all(&message).await?;
    }
}

/// async-executor with async-io, on one thread.
pub fn async_executor(server: &Server) -> io::Result<()> {
    let executor = LocalExecutor::new();
    async_io::block_on(executor.run(async {
        let mut tasks = Vec::with_capacity(server.connections);
        for connection in server.accept() {
            tasks.push(executor.spawn(async_io_echo(Async::new(connection?)?, server.desk)));
        }
        for task in tasks {
            task.await?;
        }
        Ok(())
    }))
}

async fn async_io_echo(mut connection: Async<std::net::TcpStream>, desk: Desk) -> io::Result<()> {
    use futures::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut message = desk.buffer();
    loop {
        match connection.read_exact(&mut message).await {
            Err(error) if is_end(&error) => return Ok(()),
            read => read?,
        }
        desk.serve(&message);
        connection.write_all(&message).await?;
    }
}

/// Compio, on one thread over io_uring.
pub fn compio(server: &Server) -> io::Result<()> {
    compio::runtime::Runtime::new()?.block_on(async {
        let mut tasks = Vec::with_capacity(server.connections);
        for connection in server.accept() {
            let connection = compio::net::TcpStream::from_std(connection?)?;
            tasks.push(compio::runtime::spawn(compio_echo(connection, server.desk)));
        }
        for task in tasks {
            task.await.map_err(|_| io::Error::other("a task panicked"))??;
        }
        Ok(())
    })
}

async fn compio_echo(mut connection: compio::net::TcpStream, desk: Desk) -> io::Result<()> {
    use compio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut message = desk.buffer();
    loop {
        let BufResult(read, received) = connection.read_exact(message).await;
        match read {
            Err(error) if is_end(&error) => return Ok(()),
            read => read?,
        }
        desk.serve(&received);
        let BufResult(sent, back) = connection.write_all(received).await;
        sent?;
        message = back;
    }
}
