//! As much of HTTP/1.1 as one page on this machine needs: requests without bodies, one answer per connection, and streams
//! of events. It listens on the loopback interface and answers nobody who came by another name, so that no page of the
//! web can reach it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

/// Longest request line and headers.
const MOST_BYTES: u64 = 64 << 10;
/// A browser that says nothing for this long has gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a browser asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// Without the query.
    pub path: String,
    query: Vec<(String, String)>,
    host: String,
    /// Whether the page itself asks, not another site: only it can set the header.
    from_page: bool,
}

impl Request {
    /// A parameter of the query.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether it may change something.
    pub fn may_change(&self) -> bool {
        self.method == "POST" && self.from_page
    }

    /// Whether it came by this machine's own name.
    fn is_local(&self) -> bool {
        let name = self.host.rsplit_once(':').map_or(self.host.as_str(), |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1")
    }
}

/// What it is answered.
pub enum Answer {
    /// A page.
    Html(&'static str),
    /// Data.
    Json(serde_json::Value),
    /// It cannot be answered, for this reason.
    Refused(u16, String),
    /// Events as they come, until there are no more or nobody listens; `None` where there is nothing new yet.
    Events(Box<dyn FnMut() -> Event + Send>),
}

/// What there is to be sent next.
pub enum Event {
    /// This.
    Data(String),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    Over,
}

/// Listens on the loopback interface; port 0 takes any that is free.
pub fn listen(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

/// Answers requests, each on a thread of its own, for ever.
pub fn serve(listener: &TcpListener, answer: &(dyn Fn(&Request) -> Answer + Sync)) {
    std::thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            // A connection that breaks is the browser's affair.
            scope.spawn(move || {
                let _ = converse(stream, answer);
            });
        }
    });
}

fn converse(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Answer) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let Some(request) = read(BufReader::new((&stream).take(MOST_BYTES)))? else {
        return respond(&mut stream, 400, "text/plain", b"this is no request");
    };
    if !request.is_local() {
        return respond(&mut stream, 403, "text/plain", b"only this machine is answered");
    }
    match answer(&request) {
        Answer::Html(page) => respond(&mut stream, 200, "text/html; charset=utf-8", page.as_bytes()),
        Answer::Json(value) => respond(&mut stream, 200, "application/json", value.to_string().as_bytes()),
        Answer::Refused(code, why) => {
            let told = serde_json::json!({ "error": why }).to_string();
            respond(&mut stream, code, "application/json", told.as_bytes())
        }
        Answer::Events(next) => stream_events(&mut stream, next),
    }
}

fn read(mut input: impl BufRead) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect(),
        ..Request::default()
    };
    loop {
        let mut header = String::new();
        if input.read_line(&mut header)? == 0 || header.trim().is_empty() {
            return Ok(Some(request));
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "host" => request.host = value.trim().to_owned(),
            "x-hadal" => request.from_page = true,
            _ => {}
        }
    }
}

/// Percent signs and plus signs of a query undone.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut n) = (Vec::new(), 0);
    while n < bytes.len() {
        let hex = |at: usize| bytes.get(at).and_then(|&byte| (byte as char).to_digit(16));
        match (bytes[n], hex(n + 1), hex(n + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                n += 2;
            }
            (b'+', _, _) => out.push(b' '),
            (byte, _, _) => out.push(byte),
        }
        n += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn respond(stream: &mut TcpStream, code: u16, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let reason = match code {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        _ => "Bad Request",
    };
    write!(
        stream,
        "HTTP/1.1 {code} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    stream.flush()
}

fn stream_events(stream: &mut TcpStream, mut next: Box<dyn FnMut() -> Event + Send>) -> std::io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(200);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )?;
    loop {
        match next() {
            Event::Data(line) => write!(stream, "data: {line}\n\n")?,
            Event::Nothing => {
                // Finds out whether somebody still listens.
                write!(stream, ":\n\n")?;
                stream.flush()?;
                std::thread::sleep(PAUSE);
            }
            Event::Over => {
                write!(stream, "event: over\ndata: {{}}\n\n")?;
                return stream.flush();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_with_their_queries() {
        let text = b"GET /api/state?s=0f&e=x%20%3D+1 HTTP/1.1\r\nHost: localhost:80\r\nX-Hadal: 1\r\n\r\n";
        let request = read(&text[..]).expect("bytes").expect("a request");
        assert_eq!((request.path.as_str(), request.get("s")), ("/api/state", Some("0f")));
        assert_eq!(request.get("e"), Some("x = 1"));
        assert!(request.is_local() && request.from_page);
        let other =
            read(&b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"[..]).expect("bytes").expect("a request");
        assert!(!other.is_local() && !other.may_change());
        assert!(read(&b"\r\n"[..]).expect("bytes").is_none());
    }
}
