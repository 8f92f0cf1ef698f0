//! Several machines, as they are typed.

use clap::Args;
use hadal_cluster::hosts::Cluster;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Several machines.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterArgs {
    /// Explore with several workers: local:N on this machine, or a file of hosts, one a line: host[:port] [weight=N]
    /// [disk=DIR]. --memory and --threads are those of each worker (docs/cluster.md).
    #[arg(long, value_name = "WORKERS")]
    pub cluster: Option<Cluster>,
    /// Let these variables decide which worker owns a state: steps that change others stay with it. May be repeated.
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub cluster_by: Vec<String>,
    /// Let every worker explore everything for itself until a layer has this many states. Default: 65536.
    #[arg(long, value_name = "N", requires = "cluster")]
    pub cluster_small: Option<u64>,
    /// What starts a command on another host.
    #[arg(long, value_name = "COMMAND", requires = "cluster")]
    pub cluster_ssh: Option<String>,
    /// Where hadal is on other hosts. Default: where it is here.
    #[arg(long, value_name = "PATH", requires = "cluster")]
    pub cluster_program: Option<PathBuf>,
    /// Start nobody: wait at this address (host:port) for as many `hadal worker --join` as there are workers.
    #[arg(long, value_name = "ADDRESS", requires = "cluster", requires = "cluster_token")]
    pub cluster_wait: Option<String>,
    /// A file with a word that workers which join must know.
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub cluster_token: Option<PathBuf>,
}

impl ClusterArgs {
    /// What another command says instead.
    pub fn take_over(&mut self, other: &ClusterArgs) {
        let other = other.clone();
        self.cluster = other.cluster.or(self.cluster.take());
        self.cluster_ssh = other.cluster_ssh.or(self.cluster_ssh.take());
        self.cluster_program = other.cluster_program.or(self.cluster_program.take());
        self.cluster_wait = other.cluster_wait;
        self.cluster_token = other.cluster_token.or(self.cluster_token.take());
    }
}

/// Arguments of `worker`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal worker --join head:4000 --token token.txt    one of the workers that `check --cluster-wait head:4000` waits for\n\n\
    Without --join it is told what to do through its standard input: `check --cluster` starts it so.")]
pub struct WorkerArgs {
    /// The launcher's address.
    #[arg(long, value_name = "ADDRESS", requires = "token")]
    pub join: Option<String>,
    /// A file with the word that the launcher asks for.
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Where this worker listens for the others, and how they reach it: host[:port]. Default: the name of this machine.
    #[arg(long, value_name = "ADDRESS", requires = "join")]
    pub listen: Option<String>,
}
