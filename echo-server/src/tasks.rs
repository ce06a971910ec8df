//! Servers with a task of an async runtime per connection.

use std::fmt::Debug;
use std::io;
use std::net::TcpStream;

use async_executor::LocalExecutor;
use async_io::Async;
use compio::BufResult;
use harness::runtime::with_workers;
use tokio::runtime::Builder;

use crate::Kind;
use crate::server::{Server, has_arrived};

/// Tokio, on one thread or with workers.
pub fn tokio(server: &'static Server, kind: Kind) -> io::Result<()> {
    let spawn = move |connection: TcpStream| {
        connection.set_nonblocking(true)?;
        let connection = tokio::net::TcpStream::from_std(connection)?;
        Ok(tokio::spawn(echo_on_tokio(server, connection)))
    };
    let tasks = async move { all_ended(server.start(spawn)?).await };
    if kind == Kind::TokioCurrentThread {
        let mut builder = Builder::new_current_thread();
        server.tokio.apply(&mut builder);
        return builder.enable_io().on_thread_park(|| server.waits()).build()?.block_on(tasks);
    }
    let mut builder = Builder::new_multi_thread();
    server.tokio.apply(builder.enable_io());
    let runtime = with_workers(builder, server.workers)?;
    runtime.block_on(runtime.spawn(tasks))?
}

/// Serves a connection until its end.
///
/// A read that fills its buffer does not say whether more has come, so tokio would read once more before
/// it waits. The buffers of servers are larger than a message; one byte is enough.
async fn echo_on_tokio(server: &Server, mut connection: tokio::net::TcpStream) -> io::Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut buffer = vec![0; server.bytes + 1];
    let mut filled = 0;
    loop {
        while filled < server.bytes {
            match connection.read(&mut buffer[filled..]).await {
                Ok(0) => return Ok(()),
                Ok(count) => filled += count,
                failed => return has_arrived(failed).map(drop),
            }
        }
        let message = &buffer[..server.bytes];
        server.serve(message);
        connection.write_all(message).await?;
        buffer.copy_within(server.bytes..filled, 0);
        filled -= server.bytes;
    }
}

/// async-executor with async-io, on one thread.
pub fn async_executor(server: &Server) -> io::Result<()> {
    use futures::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let executor = LocalExecutor::new();
    let spawn = |connection| {
        let mut connection = Async::<TcpStream>::new(connection)?;
        let echo = async move {
            let mut message = vec![0; server.bytes];
            while has_arrived(connection.read_exact(&mut message).await)? {
                server.serve(&message);
                connection.write_all(&message).await?;
            }
            Ok(())
        };
        Ok(executor.spawn(async { Ok::<_, ()>(echo.await) }))
    };
    async_io::block_on(executor.run(async { all_ended(server.start(spawn)?).await }))
}

/// Compio, on one thread over io_uring.
pub fn compio(server: &'static Server) -> io::Result<()> {
    use compio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let spawn = |connection| {
        let mut connection = compio::net::TcpStream::from_std(connection)?;
        Ok(compio::runtime::spawn(async move {
            let mut message = vec![0; server.bytes];
            loop {
                let BufResult(read, received) = connection.read_exact(message).await;
                if !has_arrived(read)? {
                    return Ok(());
                }
                server.serve(&received);
                let BufResult(sent, back) = connection.write_all(received).await;
                sent?;
                message = back;
            }
        }))
    };
    let runtime = compio::runtime::Runtime::new()?;
    runtime.block_on(async { all_ended(server.start(spawn)?).await })
}

/// Waits for all tasks.
async fn all_ended<E: Debug>(
    tasks: Vec<impl Future<Output = Result<io::Result<()>, E>>>,
) -> io::Result<()> {
    for task in tasks {
        task.await.expect("no task panics")?;
    }
    Ok(())
}
