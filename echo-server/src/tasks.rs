//! Servers with a task of an async runtime per connection.

use std::fmt::Debug;
use std::io;

use async_executor::LocalExecutor;
use async_io::Async;
use compio::BufResult;
use harness::runtime::with_workers;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Builder;

use crate::Kind;
use crate::server::{Desk, Server, has_arrived};

/// Tokio, on one thread or with workers.
pub fn tokio(server: Server, kind: Kind) -> io::Result<()> {
    let (desk, workers) = (server.desk, server.workers);
    let tasks = async move {
        let spawn = |connection: std::net::TcpStream| {
            connection.set_nonblocking(true)?;
            let connection = tokio::net::TcpStream::from_std(connection)?;
            Ok(tokio::spawn(tokio_echo(connection, desk)))
        };
        all_ended(server.start(spawn)?).await
    };
    if kind == Kind::TokioCurrentThread {
        let mut builder = Builder::new_current_thread();
        return builder.enable_io().on_thread_park(move || desk.waits()).build()?.block_on(tasks);
    }
    let mut builder = Builder::new_multi_thread();
    builder.enable_io();
    let runtime = with_workers(builder, workers)?;
    runtime.block_on(runtime.spawn(tasks))?
}

/// Waits for all tasks.
async fn all_ended<E: Debug>(
    tasks: Vec<impl Future<Output = Result<io::Result<()>, E>>>,
) -> io::Result<()> {
    for task in tasks {
        task.await.map_err(|error| io::Error::other(format!("a task panicked: {error:?}")))??;
    }
    Ok(())
}

async fn tokio_echo(mut connection: tokio::net::TcpStream, desk: Desk) -> io::Result<()> {
    let mut message = vec![0; desk.bytes];
    while has_arrived(connection.read_exact(&mut message).await)? {
        desk.serve(&message);
        connection.write_all(&message).await?;
    }
    Ok(())
}

/// async-executor with async-io, on one thread.
pub fn async_executor(server: &Server) -> io::Result<()> {
    let executor = LocalExecutor::new();
    let spawn = |connection| {
        let echo = async_io_echo(Async::new(connection)?, server.desk);
        Ok(executor.spawn(async { Ok::<_, ()>(echo.await) }))
    };
    async_io::block_on(executor.run(async { all_ended(server.start(spawn)?).await }))
}

async fn async_io_echo(mut connection: Async<std::net::TcpStream>, desk: Desk) -> io::Result<()> {
    use futures::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut message = vec![0; desk.bytes];
    while has_arrived(connection.read_exact(&mut message).await)? {
        desk.serve(&message);
        connection.write_all(&message).await?;
    }
    Ok(())
}

/// Compio, on one thread over io_uring.
pub fn compio(server: &Server) -> io::Result<()> {
    let spawn = |connection| {
        let connection = compio::net::TcpStream::from_std(connection)?;
        Ok(compio::runtime::spawn(compio_echo(connection, server.desk)))
    };
    let runtime = compio::runtime::Runtime::new()?;
    runtime.block_on(async { all_ended(server.start(spawn)?).await })
}

async fn compio_echo(mut connection: compio::net::TcpStream, desk: Desk) -> io::Result<()> {
    use compio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut message = vec![0; desk.bytes];
    loop {
        let BufResult(read, received) = connection.read_exact(message).await;
        if !has_arrived(read)? {
            return Ok(());
        }
        desk.serve(&received);
        let BufResult(sent, back) = connection.write_all(received).await;
        (message, _) = (back, sent?);
    }
}
