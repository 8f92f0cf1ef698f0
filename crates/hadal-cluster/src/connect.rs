//! Connections between workers. Who listens where is the launcher's choice: loopback unless other hosts are named. Whoever
//! connects shows the token of the run, the version and the model's fingerprint; others are turned away.

use crate::VERSION;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long workers try to find each other.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a stranger may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// The longest greeting.
const LONGEST: u64 = 4096;
/// How long bytes may stay unacknowledged: a host without power says nothing.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_MS: libc::c_int = 300_000;

/// What a worker shows to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Of the run.
    pub token: String,
    /// Of the model.
    pub fingerprint: u64,
}

#[derive(Serialize, Deserialize)]
struct Greeting {
    version: String,
    pass: Pass,
    from: usize,
}

/// Why workers do not come together.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody answers there.
    #[error("cannot reach worker {worker} at {address}: {error}")]
    Unreachable {
        /// Which.
        worker: usize,
        /// Where.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// It wants nothing to do with us.
    #[error("worker {worker} turned us away: {why}")]
    TurnedAway {
        /// Which.
        worker: usize,
        /// Why.
        why: String,
    },
    /// Somebody did not come.
    #[error("worker {0} did not connect in time")]
    Missing(usize),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A place where others can connect.
pub struct Listening {
    listener: TcpListener,
    host: String,
}

impl Listening {
    /// At a host and port; a port of 0 is chosen by the system.
    pub fn at(place: &str) -> io::Result<Self> {
        let host = place.rsplit_once(':').map_or(place, |(host, _)| host).to_owned();
        Ok(Listening { listener: TcpListener::bind(place)?, host })
    }

    /// Where others find it.
    pub fn address(&self) -> io::Result<String> {
        Ok(format!("{}:{}", self.host, self.listener.local_addr()?.port()))
    }

    /// Connects worker `me` with all others: to those before it, and from those behind it.
    pub fn connect(
        self,
        me: usize,
        addresses: &[String],
        pass: &Pass,
    ) -> Result<Vec<Option<TcpStream>>, ConnectError> {
        let mut sockets: Vec<Option<TcpStream>> = (0..addresses.len()).map(|_| None).collect();
        for (worker, address) in addresses.iter().enumerate().take(me) {
            sockets[worker] = Some(call((worker, address), me, pass)?);
        }
        let until = Instant::now() + PATIENCE;
        self.listener.set_nonblocking(true)?;
        while let Some(missing) = (me + 1..addresses.len()).find(|&worker| sockets[worker].is_none()) {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // A stranger, or one that does not speak, is left behind.
                    if let Ok((from, stream)) = welcome(stream, pass)
                        && from > me
                        && let Some(place) = sockets.get_mut(from)
                    {
                        *place = Some(stream);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() > until {
                        return Err(ConnectError::Missing(missing));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => return Err(error.into()),
            }
        }
        for socket in sockets.iter().flatten() {
            prepare(socket)?;
        }
        Ok(sockets)
    }
}

fn call((worker, address): (usize, &str), me: usize, pass: &Pass) -> Result<TcpStream, ConnectError> {
    let unreachable = |error| ConnectError::Unreachable { worker, address: address.to_owned(), error };
    let places: Vec<_> = address.to_socket_addrs().map_err(unreachable)?.collect();
    let mut stream = TcpStream::connect(&places[..]).map_err(unreachable)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let greeting = Greeting { version: VERSION.into(), pass: pass.clone(), from: me };
    let mut line = serde_json::to_vec(&greeting).map_err(io::Error::from)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let reply = read_line(&stream).map_err(unreachable)?;
    stream.set_read_timeout(None)?;
    match reply.as_str() {
        "welcome" => Ok(stream),
        why => Err(ConnectError::TurnedAway { worker, why: why.to_owned() }),
    }
}

/// Lets in whoever has the right pass; says who it is.
fn welcome(mut stream: TcpStream, pass: &Pass) -> io::Result<(usize, TcpStream)> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(GREETING))?;
    let line = read_line(&stream)?;
    let refused = match serde_json::from_str::<Greeting>(&line) {
        Err(_) => "this is hadal, and that was no greeting",
        Ok(greeting) if greeting.version != VERSION => "another version",
        Ok(greeting) if !same(&greeting.pass.token, &pass.token) => "a wrong token",
        Ok(greeting) if greeting.pass.fingerprint != pass.fingerprint => "another model",
        Ok(greeting) => {
            stream.write_all(b"welcome\n")?;
            stream.set_read_timeout(None)?;
            return Ok((greeting.from, stream));
        }
    };
    stream.write_all(format!("{refused}\n").as_bytes())?;
    Err(io::Error::other(refused))
}

/// Whether two tokens are the same, in a time that does not tell how far they agree.
pub fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// A token that nobody can guess.
pub fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads a line byte by byte: what follows it is not ours.
fn read_line(stream: &TcpStream) -> io::Result<String> {
    let mut line = Vec::new();
    BufReader::with_capacity(1, stream).take(LONGEST).read_until(b'\n', &mut line)?;
    match line.pop() {
        Some(b'\n') => String::from_utf8(line).map_err(io::Error::other),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Small parcels go at once, and a peer that is gone is noticed.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let set = |level: libc::c_int, name: libc::c_int, value: libc::c_int| {
            let size = size_of::<libc::c_int>() as libc::socklen_t;
            // SAFETY: the descriptor is open for as long as `stream` is borrowed, and the value is an int of that size.
            let done =
                unsafe { libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const value).cast(), size) };
            if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 30)?;
        set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 10)?;
        set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 6)?;
        set(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(token: &str) -> Pass {
        Pass { token: token.into(), fingerprint: 7 }
    }

    #[test]
    fn workers_find_each_other_past_strangers() {
        let places: Vec<Listening> = (0..3).map(|_| Listening::at("127.0.0.1:0").expect("a port")).collect();
        let addresses: Vec<String> = places.iter().map(|place| place.address().expect("its own")).collect();
        // One with a wrong token, one of another model, one that speaks another language, one that says nothing.
        let mut strangers = Vec::new();
        for (line, told) in [
            (
                serde_json::to_string(&Greeting { version: VERSION.into(), pass: pass("wrong"), from: 1 }),
                "a wrong token",
            ),
            (
                serde_json::to_string(&Greeting { version: "0".into(), pass: pass("right"), from: 1 }),
                "another version",
            ),
            (
                serde_json::to_string(&Greeting {
                    version: VERSION.into(),
                    pass: Pass { fingerprint: 8, ..pass("right") },
                    from: 1,
                }),
                "another model",
            ),
            (Ok("GET / HTTP/1.1".into()), "this is hadal, and that was no greeting"),
        ] {
            let mut stranger = TcpStream::connect(&addresses[0]).expect("it listens");
            writeln!(stranger, "{}", line.expect("a greeting")).expect("it is read later");
            strangers.push((stranger, told));
        }
        drop(TcpStream::connect(&addresses[0]).expect("it listens"));
        std::thread::scope(|scope| {
            for (me, place) in places.into_iter().enumerate() {
                let addresses = &addresses;
                scope.spawn(move || {
                    let sockets = place.connect(me, addresses, &pass("right")).expect("the others");
                    assert_eq!(sockets.iter().position(Option::is_none), Some(me));
                    assert_eq!(sockets.iter().flatten().count(), 2);
                });
            }
        });
        for (stranger, told) in strangers {
            assert_eq!(read_line(&stranger).expect("an answer"), told);
        }
    }

    #[test]
    fn whoever_is_turned_away_is_told_why() {
        let place = Listening::at("127.0.0.1:0").expect("a port");
        let address = place.address().expect("its own");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (stream, _) = place.listener.accept().expect("a caller");
                assert!(welcome(stream, &pass("right")).is_err());
            });
            let refused = call((0, &address), 1, &pass("wrong")).expect_err("another token");
            assert_eq!(refused.to_string(), "worker 0 turned us away: a wrong token");
        });
    }
}
