//! `hadal graph`: distances in an explicit graph on disk, and the blocks that finding them moves.

use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use hadal_check::CheckError;
use hadal_check::options::parse_size;
use hadal_check::units::{counted, grouped};
use hadal_search::explicit::{Clustering, Distances, Graph, Input, InputError, Way};
use hadal_search::layered::Trouble;
use hadal_store::Governor;
use hadal_store::run::RunReader;
use hadal_store::vfs::{Disk, Folder, IoThreads};
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `hadal graph FILE --from VERTEX`.
#[derive(Args, Clone, Debug)]
pub struct GraphArgs {
    /// The graph: an edge per line, `FROM TO` in whole numbers, or an Aldebaran file (.aut). Edges are taken in both directions.
    pub graph: PathBuf,
    /// Where the search begins.
    #[arg(long, value_name = "VERTEX")]
    pub from: u64,
    /// How it is made.
    #[arg(long, value_enum, default_value_t = GraphWay::Mr)]
    pub way: GraphWay,
    /// With --way mm: draws the clusters' centres.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The memory budget.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64M")]
    pub memory: u64,
    /// Folder for what does not fit there, gone at the end. Default: the system's temporary folder.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Write every vertex that is reached with its distance to this file, nearest first.
    #[arg(long, value_name = "FILE")]
    pub distances: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// How distances are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphWay {
    /// Munagala and Ranade: a look at the adjacency lists for every vertex, a sort for every layer.
    Mr,
    /// Mehlhorn and Meyer: the same with clusters, which grow around drawn vertices.
    Mm,
    /// The same with clusters from a walk around a spanning tree, which takes 36 bytes of memory for every vertex.
    MmD,
}

/// The least budget.
const LEAST_MEMORY: u64 = 1 << 20;

/// Searches the graph.
pub fn run(args: &GraphArgs) -> Result<u8, Failure> {
    let way = match (args.way, args.seed) {
        (GraphWay::Mm, seed) => Way::MehlhornMeyer(Clustering::Drawn(seed.unwrap_or(1))),
        (_, Some(_)) => return Err(Failure::Usage("--seed belongs to --way mm".into())),
        (GraphWay::Mr, None) => Way::MunagalaRanade,
        (GraphWay::MmD, None) => Way::MehlhornMeyer(Clustering::Tour),
    };
    if args.memory < LEAST_MEMORY {
        return Err(Failure::Usage("--memory: give it 1M at least".into()));
    }
    let place = args.disk.clone().unwrap_or_else(std::env::temp_dir);
    let folder = place.join(format!("hadal-graph-{}", std::process::id()));
    let searched = search(args, way, &folder);
    // What cannot be removed is left to whoever owns the parent.
    let _ = std::fs::remove_dir_all(&folder);
    searched
}

fn search(args: &GraphArgs, way: Way, folder: &Path) -> Result<u8, Failure> {
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |error| Failure::File { path, error }
    };
    std::fs::create_dir_all(folder).map_err(unusable(folder))?;
    let files = Folder::create(folder).map_err(unusable(folder))?;
    let disk = Disk::new(Arc::new(files), IoThreads::new(2), Governor::new(args.memory), 0);
    let text = File::open(&args.graph).map_err(unusable(&args.graph))?;
    let mut failed = None;
    let edges = Input::new(BufReader::new(text)).map_while(|edge| match edge {
        Ok(edge) => Some(Ok(edge)),
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    let graph = Graph::build(&disk, args.memory, edges).map_err(trouble)?;
    match failed {
        None => {}
        Some(InputError::Io(error)) => return Err(unusable(&args.graph)(error)),
        Some(InputError::Parse(error)) => {
            return Err(Failure::Usage(format!("{}: {error}", args.graph.display())));
        }
    }
    let preparing = disk.traffic.blocks();
    let found = graph.search(args.from, way).map_err(trouble)?;
    if let Some(path) = &args.distances {
        write(&found, path)?;
    }
    let jumps: u64 = disk.traffic.transfers().iter().map(|it| it.read.jumps + it.written.jumps).sum();
    let reached: u64 = found.layers.iter().sum();
    let distance = found.layers.len().saturating_sub(1);
    if args.json {
        let object = json!({
            "vertices": graph.vertices(),
            "edges": graph.edges() / 2,
            "reached": reached,
            "distance": distance,
            "layers": found.layers,
            "clusters": found.clusters,
            "blocks": {
                "preparing": preparing,
                "clustering": found.clustering_blocks,
                "searching": found.searching_blocks,
            },
            "jumps": jumps,
            "peak_budget_bytes": disk.governor.peak(),
        });
        output::line(&object.to_string())?;
        return Ok(0);
    }
    output::line(&format!(
        "{} of {} vertices reached from {}, the farthest {} away",
        grouped(reached),
        grouped(graph.vertices()),
        args.from,
        counted(distance as u64, "edge")
    ))?;
    output::line(&format!(
        "blocks of 4096 bytes moved: {} to sort {}, {} to make {}, {} to search; {}",
        grouped(preparing),
        counted(graph.edges() / 2, "edge"),
        grouped(found.clustering_blocks),
        counted(found.clusters, "cluster"),
        grouped(found.searching_blocks),
        counted(jumps, "jump")
    ))?;
    Ok(0)
}

fn write(found: &Distances, path: &Path) -> Result<(), Failure> {
    let unusable = |error| Failure::File { path: path.to_owned(), error };
    let mut file = BufWriter::new(File::create(path).map_err(unusable)?);
    let mut reader = RunReader::open(&found.run).map_err(|error| trouble(error.into()))?;
    let mut block = Vec::new();
    while reader.next_block(&mut block).map_err(|error| trouble(error.into()))? {
        for pair in block.chunks_exact(2) {
            writeln!(file, "{} {}", pair[0], pair[1]).map_err(unusable)?;
        }
    }
    file.flush().map_err(unusable)
}

fn trouble(trouble: Trouble) -> Failure {
    CheckError::from(trouble).into()
}
