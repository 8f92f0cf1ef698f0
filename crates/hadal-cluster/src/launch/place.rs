//! Where workers come from: processes that the launcher starts, here or through `ssh`, or connections that it waits for.

use crate::message::{FromWorker, ToWorker, get, put};
use crate::{VERSION, connect};
use hadal_search::Control;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How long a worker that is done may take to end.
const LEAVE: Duration = Duration::from_secs(20);
/// How long a stranger may take to say hello.
const HELLO: Duration = Duration::from_secs(5);

/// Something a worker said, or nothing more.
pub(super) struct Post {
    pub(super) worker: usize,
    pub(super) said: Option<FromWorker>,
}

/// A worker that was started; it is gone when this is.
pub(super) struct Started {
    pub(super) writer: Box<dyn Write + Send>,
    process: Option<Child>,
    stream: Option<TcpStream>,
}

impl Started {
    /// A process with pipes.
    pub(super) fn process(mut command: Command, worker: usize, posts: &Sender<Post>) -> io::Result<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        listen(stdout, worker, posts);
        Ok(Started { writer: Box::new(stdin), process: Some(process), stream: None })
    }

    /// Lets a worker that is done end by itself.
    pub(super) fn leave(&mut self) {
        let until = Instant::now() + LEAVE;
        if let Some(process) = &mut self.process {
            while matches!(process.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // One that ended already cannot be killed.
            let _ = process.kill();
            let _ = process.wait();
        }
        if let Some(stream) = &self.stream {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn listen(from: impl Read + Send + 'static, worker: usize, posts: &Sender<Post>) {
    let posts = posts.clone();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(from);
        loop {
            // What cannot be read is as good as nothing.
            let said = get(&mut reader).unwrap_or(None);
            let is_over = said.is_none();
            if posts.send(Post { worker, said }).is_err() || is_over {
                return;
            }
        }
    });
}

/// A place where the launcher waits for workers that others start.
pub struct Waiting {
    listener: TcpListener,
    token: String,
}

impl Waiting {
    /// At this address, for workers that know the token.
    pub fn at(address: &str, token: String) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Waiting { listener, token })
    }

    /// Where it is.
    pub fn address(&self) -> io::Result<std::net::SocketAddr> {
        self.listener.local_addr()
    }

    /// The next worker that comes, with the right token and version.
    pub(super) fn next(&self, worker: usize, posts: &Sender<Post>, control: &Control) -> io::Result<Started> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !control.is_interrupted() => {
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(false)?;
            match self.welcome(&stream) {
                Ok(None) => {
                    connect::prepare(&stream)?;
                    listen(stream.try_clone()?, worker, posts);
                    let writer = Box::new(stream.try_clone()?);
                    return Ok(Started { writer, process: None, stream: Some(stream) });
                }
                Ok(Some(why)) => {
                    // Whether it hears why does not matter here.
                    let _ = put(&mut stream, &ToWorker::Refused { why });
                }
                Err(_) => {}
            }
        }
    }

    /// Why a stranger is not welcome, if it is not.
    fn welcome(&self, stream: &TcpStream) -> io::Result<Option<String>> {
        stream.set_read_timeout(Some(HELLO))?;
        let mut reader = BufReader::with_capacity(1, stream.take(4096));
        let said: Option<FromWorker> = get(&mut reader)?;
        stream.set_read_timeout(None)?;
        Ok(match said {
            Some(FromWorker::Hello { token, .. }) if !connect::same(&token, &self.token) => {
                Some("a wrong token".into())
            }
            Some(FromWorker::Hello { version, .. }) if version != VERSION => {
                Some(format!("it is version {version}, and the launcher is {VERSION}"))
            }
            Some(FromWorker::Hello { .. }) => None,
            _ => Some("that was no hello".into()),
        })
    }
}
