//! A small language server: diagnostics, go to definition and hover for every language in the registry.
//!
//! It speaks the Language Server Protocol 3.17 over standard input and output and keeps no state but the open texts and
//! the last model that each of them was accepted as.

mod document;
mod planning;
mod rpc;
mod symbols;
mod text;

use document::Document;
use rpc::{Incoming, Wire};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};

/// JSON-RPC: the method does not exist.
const METHOD_NOT_FOUND: i64 = -32601;

/// Serves until the client says `exit` or closes its end; returns the exit code that the protocol asks for.
pub fn serve(input: impl BufRead, output: impl Write) -> io::Result<u8> {
    let mut server = Server { wire: Wire::new(input, output), open: HashMap::new(), shutting_down: false };
    while let Some(message) = server.wire.read()? {
        match message {
            Incoming::Request { id, method, params } => {
                let answer = server.answer(&method, &params);
                server.wire.respond(id, answer)?;
            }
            Incoming::Notification { method, .. } if method == "exit" => {
                return Ok(u8::from(!server.shutting_down));
            }
            Incoming::Notification { method, params } => server.notice(&method, &params)?,
        }
    }
    Ok(u8::from(!server.shutting_down))
}

struct Server<R, W> {
    wire: Wire<R, W>,
    open: HashMap<String, Document>,
    shutting_down: bool,
}

impl<R: BufRead, W: Write> Server<R, W> {
    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, (i64, String)> {
        match method {
            "initialize" => Ok(json!({
                "capabilities": {
                    // The whole text comes with every change: models are small.
                    "textDocumentSync": 1,
                    "definitionProvider": true,
                    "hoverProvider": true,
                    "documentSymbolProvider": true,
                },
                "serverInfo": { "name": "hadal", "version": env!("CARGO_PKG_VERSION") },
            })),
            "shutdown" => {
                self.shutting_down = true;
                Ok(Value::Null)
            }
            "textDocument/definition" => Ok(self.at(params, Document::definition)),
            "textDocument/hover" => Ok(self.at(params, Document::hover)),
            "textDocument/documentSymbol" => Ok(self.document(params).map_or(Value::Null, Document::outline)),
            _ => Err((METHOD_NOT_FOUND, format!("hadal does not answer `{method}`"))),
        }
    }

    fn notice(&mut self, method: &str, params: &Value) -> io::Result<()> {
        let Some(uri) = params["textDocument"]["uri"].as_str().map(str::to_owned) else { return Ok(()) };
        let text = match method {
            "textDocument/didOpen" => &params["textDocument"]["text"],
            "textDocument/didChange" => {
                match params["contentChanges"].as_array().and_then(|all| all.last()) {
                    Some(change) => &change["text"],
                    None => return Ok(()),
                }
            }
            "textDocument/didClose" => {
                self.open.remove(&uri);
                return self.publish(&uri, json!([]));
            }
            _ => return Ok(()),
        };
        let Some(text) = text.as_str() else { return Ok(()) };
        let document = self.open.entry(uri.clone()).or_insert_with(|| Document::new(&uri));
        let findings = document.update(text);
        self.publish(&uri, findings)
    }

    fn publish(&mut self, uri: &str, findings: Value) -> io::Result<()> {
        self.wire.notify("textDocument/publishDiagnostics", json!({ "uri": uri, "diagnostics": findings }))
    }

    fn document(&self, params: &Value) -> Option<&Document> {
        self.open.get(params["textDocument"]["uri"].as_str()?)
    }

    fn at(&self, params: &Value, ask: fn(&Document, usize) -> Option<Value>) -> Value {
        let Some(document) = self.document(params) else { return Value::Null };
        let (line, column) = (params["position"]["line"].as_u64(), params["position"]["character"].as_u64());
        let (Some(line), Some(column)) = (line, column) else { return Value::Null };
        ask(document, document.text().offset(line as usize, column as usize)).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests;
