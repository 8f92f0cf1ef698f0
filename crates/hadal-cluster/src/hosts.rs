//! Which workers there are: so many on this machine, or those of a file of hosts.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Most workers on this machine.
const MOST_LOCAL: usize = 64;

/// A worker to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name or address; none for this machine.
    pub name: Option<String>,
    /// Where it listens for the others; chosen by its system where it is 0.
    pub port: u16,
    /// Its share of the states, in proportion to those of the others.
    pub weight: u64,
    /// Where it keeps run folders, where that is not the launcher's place.
    pub disk: Option<PathBuf>,
}

impl Host {
    const LOCAL: Host = Host { name: None, port: 0, weight: 1, disk: None };

    /// What people call it.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or("localhost")
    }

    /// Where it listens: on loopback, unless it is another machine.
    pub fn listens_at(&self) -> String {
        format!("{}:{}", self.name.as_deref().unwrap_or("127.0.0.1"), self.port)
    }
}

/// The workers of a cluster, as `--cluster` names them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Cluster {
    /// This many on this machine.
    Local(usize),
    /// Those of a file.
    Hosts(PathBuf),
}

/// A cluster that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The file.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line of it.
    #[error("{path}:{line}: {what}")]
    Line {
        /// Of this file.
        path: PathBuf,
        /// Which, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// No worker.
    #[error("{0}: it names no host")]
    Nobody(PathBuf),
}

impl Cluster {
    /// Its workers, in order.
    pub fn hosts(&self) -> Result<Vec<Host>, HostsError> {
        match self {
            Cluster::Local(workers) => Ok(vec![Host::LOCAL; *workers]),
            Cluster::Hosts(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| HostsError::File { path: path.clone(), error })?;
                parse(path, &text)
            }
        }
    }
}

impl std::str::FromStr for Cluster {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("local:") {
            Some(number) => match number.parse() {
                Ok(workers) if (1..=MOST_LOCAL).contains(&workers) => Ok(Cluster::Local(workers)),
                _ => Err(format!("`{text}`: local:N starts 1 to {MOST_LOCAL} workers on this machine")),
            },
            None if text.is_empty() => Err("local:N, or a file of hosts".into()),
            None => Ok(Cluster::Hosts(text.into())),
        }
    }
}

impl std::fmt::Display for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cluster::Local(workers) => write!(f, "local:{workers}"),
            Cluster::Hosts(path) => write!(f, "{}", path.display()),
        }
    }
}

impl From<Cluster> for String {
    fn from(cluster: Cluster) -> String {
        cluster.to_string()
    }
}

impl TryFrom<String> for Cluster {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Reads lines of `host[:port] [weight=N] [disk=DIR]`; `#` begins a comment.
fn parse(path: &Path, text: &str) -> Result<Vec<Host>, HostsError> {
    let mut hosts = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let wrong = |what: String| HostsError::Line { path: path.to_owned(), line: n + 1, what };
        let mut parts = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(name) = parts.next() else { continue };
        let mut host = of_name(name).map_err(wrong)?;
        for part in parts {
            match part.split_once('=') {
                Some(("weight", number)) => {
                    let weight = number.parse().ok().filter(|weight| (1..=1_000_000).contains(weight));
                    host.weight = weight.ok_or_else(|| wrong(format!("`{part}`: 1 to 1000000")))?;
                }
                Some(("disk", folder)) if !folder.is_empty() => host.disk = Some(folder.into()),
                _ => return Err(wrong(format!("`{part}` is neither weight=N nor disk=DIR"))),
            }
        }
        hosts.push(host);
    }
    match hosts.is_empty() {
        true => Err(HostsError::Nobody(path.to_owned())),
        false => Ok(hosts),
    }
}

fn of_name(text: &str) -> Result<Host, String> {
    // An IPv6 address has colons of its own and stands in brackets where a port follows.
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, "")) => (name, None),
        Some((name, port)) => (name, Some(port.strip_prefix(':').unwrap_or(port))),
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() || name.starts_with('-') {
        return Err(format!("`{text}` is no host"));
    }
    let port = match port {
        Some(port) => port.parse().map_err(|_| format!("`{port}` is no port"))?,
        None => 0,
    };
    let is_here = ["localhost", "127.0.0.1", "::1"].contains(&name);
    Ok(Host { name: (!is_here).then(|| name.to_owned()), port, ..Host::LOCAL })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_hosts_are_read_line_by_line() {
        let text = "# two racks\nnode1\nnode2:4000 weight=3 disk=/scratch # fast\n\nlocalhost weight=2\n";
        let hosts = parse(Path::new("hosts.txt"), text).expect("hosts");
        assert_eq!(hosts.len(), 3);
        assert_eq!((hosts[0].label(), hosts[0].listens_at().as_str()), ("node1", "node1:0"));
        assert_eq!((hosts[1].port, hosts[1].weight), (4000, 3));
        assert_eq!(hosts[1].disk.as_deref(), Some(Path::new("/scratch")));
        assert_eq!((hosts[2].label(), hosts[2].listens_at().as_str()), ("localhost", "127.0.0.1:0"));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told_with_its_number() {
        for (text, told) in [
            ("node1\nnode2 weight=0", "hosts.txt:2: `weight=0`: 1 to 1000000"),
            ("node1 speed=2", "hosts.txt:1: `speed=2` is neither weight=N nor disk=DIR"),
            ("node1:x", "hosts.txt:1: `x` is no port"),
            ("-oProxyCommand=sh", "hosts.txt:1: `-oProxyCommand=sh` is no host"),
            ("# nobody", "hosts.txt: it names no host"),
        ] {
            assert_eq!(parse(Path::new("hosts.txt"), text).expect_err(text).to_string(), told);
        }
        assert!("local:0".parse::<Cluster>().is_err() && "local:x".parse::<Cluster>().is_err());
        assert_eq!("local:4".parse(), Ok(Cluster::Local(4)));
    }
}
