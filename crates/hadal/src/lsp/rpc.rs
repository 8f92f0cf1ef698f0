//! JSON-RPC 2.0 in the framing of the Language Server Protocol: headers, a blank line, a JSON body.

use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};

/// A longer message is refused instead of allocated.
const MOST_BYTES: usize = 256 << 20;

/// What a client says.
pub enum Incoming {
    /// Wants an answer.
    Request {
        /// Repeated in the answer.
        id: Value,
        /// What is asked.
        method: String,
        /// Its arguments.
        params: Value,
    },
    /// Wants none.
    Notification {
        /// What is told.
        method: String,
        /// Its arguments.
        params: Value,
    },
}

/// Both directions of a connection.
pub struct Wire<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Wire<R, W> {
    /// A connection over these streams.
    pub fn new(input: R, output: W) -> Self {
        Wire { input, output }
    }

    /// The next message, or `None` where the client closed its end. Responses and malformed messages are passed over.
    pub fn read(&mut self) -> io::Result<Option<Incoming>> {
        loop {
            let Some(length) = self.headers()? else { return Ok(None) };
            if length > MOST_BYTES {
                return Err(io::Error::other(format!("a message of {length} bytes")));
            }
            let mut body = vec![0; length];
            self.input.read_exact(&mut body)?;
            let Ok(mut message) = serde_json::from_slice::<Value>(&body) else { continue };
            let Some(method) = message["method"].as_str().map(str::to_owned) else { continue };
            let params = message["params"].take();
            return Ok(Some(match message.get("id").cloned() {
                Some(id) => Incoming::Request { id, method, params },
                None => Incoming::Notification { method, params },
            }));
        }
    }

    /// The length of the body that follows; `None` at the end of the input.
    fn headers(&mut self) -> io::Result<Option<usize>> {
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.input.by_ref().take(4096).read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end();
            if line.is_empty() {
                if let Some(length) = length {
                    return Ok(Some(length));
                }
                continue;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok();
            }
        }
    }

    /// Answers a request.
    pub fn respond(&mut self, id: Value, answer: Result<Value, (i64, String)>) -> io::Result<()> {
        self.send(&match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        })
    }

    /// Tells the client something.
    pub fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let body = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        self.output.flush()
    }
}
