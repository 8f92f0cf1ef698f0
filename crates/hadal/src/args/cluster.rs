//! Several machines, as they are typed.

use clap::Args;
use hadal_cluster::hosts::Cluster;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Several machines.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterArgs {
    /// Explore with several workers: local:N on this machine, or a file with one host per line: host[:port] [weight=N]
    /// [disk=DIR]. --memory and --threads apply to each worker (docs/cluster.md).
    #[arg(long, value_name = "WORKERS")]
    pub cluster: Option<Cluster>,
    /// Let these variables decide which worker owns a state: steps that change others stay with it. May be repeated.
    #[arg(long, value_name = "NAME", requires = "cluster")]
    pub cluster_by: Vec<String>,
    /// Let every worker explore everything alone until a layer has this many states. Default: 65536.
    #[arg(long, value_name = "N", requires = "cluster")]
    pub cluster_small: Option<u64>,
    /// Command that starts a command on another host. Default: ssh -o BatchMode=yes.
    #[arg(long, value_name = "COMMAND", requires = "cluster")]
    pub cluster_ssh: Option<String>,
    /// Path of hadal on other hosts. Default: the path here.
    #[arg(long, value_name = "PATH", requires = "cluster")]
    pub cluster_program: Option<PathBuf>,
    /// Start no workers: wait at this address (host:port) until each of them has joined with `hadal worker --join`.
    #[arg(long, value_name = "ADDRESS", requires = "cluster", requires = "cluster_token")]
    pub cluster_wait: Option<String>,
    /// File with a secret word that workers must know to join.
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
    /// File with the launcher's secret word.
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// Where this worker listens, and how the others reach it: host[:port]. Default: the name of this machine.
    #[arg(long, value_name = "ADDRESS", requires = "join")]
    pub listen: Option<String>,
}
