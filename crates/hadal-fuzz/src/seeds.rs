//! What damage begins with: models of the repository, of the corpus where it is there, and files made here.

use crate::Reader;
use crate::files::RUN;
use crate::planning;
use hadal_store::diagram::{Diagram, Levels};
use hadal_store::manifest::{Commit, Medium, RunFolder};
use hadal_store::vfs::{IoThreads, Vfs as _};
use hadal_store::{Disk, Governor, RecordShape, RunKind, RunOptions, RunWriter};
use hadal_testkit::{FaultyFolder, corpus};
use std::path::Path;
use std::sync::Arc;

/// Larger files take too long to be damaged often.
const MOST_BYTES: usize = 6_000;
/// Files of the corpus for each reader.
const MOST_FILES: usize = 40;

const FORMULAS: &[&str] = &[
    "[] (request -> <> granted)",
    "G (a & X b) || (c U (d R !e)) <-> true",
    "((p W q) M r) ^ false -> <> [] \"a name\"",
];
const CLAIMS: &[&str] = &[
    "never { /* [] p */ T0_init: if :: (!p) -> goto accept_all :: (1) -> goto T0_init fi; accept_all: skip }",
    "never { T0: do :: atomic { (a && !b) -> assert(!(a)) } :: (true) -> goto accept_S od; accept_S: \
     if :: (b || c) -> goto T0 fi; }",
];
const AUTOMATA: &[&str] = &[
    "HOA: v1\nname: \"GFa\"\nStates: 1\nStart: 0\nAP: 1 \"a\"\nacc-name: Buchi\nAcceptance: 1 Inf(0)\n\
     properties: trans-labels explicit-labels state-acc\n--BODY--\nState: 0\n[0] 0 {0}\n[!0] 0\n--END--\n",
    "HOA: v1\nStates: 2\nStart: 0\nAP: 2 \"p\" \"q\"\nAcceptance: 2 Inf(0)&Inf(1)\n--BODY--\nState: 0 \"s\" {0}\n\
     [0&!1 | t] 1\nState: 1\n[!0] 0 {1}\n--END--\n",
];
const DESCRIPTIONS: &[&str] = &[
    "<?xml version=\"1.0\"?><model><name>m</name><parameters><param name=\"N\"/></parameters>\
     <instance no=\"1\"><param name=\"N\" value=\"3\"/></instance><atomic_propositions><proposition name=\"p\">x==1\
     </proposition></atomic_propositions><properties><property no=\"1\"><type>LTL</type><formula>G(p)</formula></property>\
     </properties></model>",
];
const PLANS: &[&str] =
    &["(go o o)\n; cost = 1\n", "0.0: (go n k) [1]\n(go o o)\n", "(go  o\n o)\n(no-such-action o)"];
const PLANES: &[&str] = &["2 10\n 0 1 5 9 10 10 99999 3\n 0 2 6 9 10 10 3 99999\n"];
const RECORDS: &[&str] = &[
    "[[[1,2,3],[[1,4,8]],[0.5,0.25]]]",
    "{\"status\":\"running\",\"layers\":[],\"covers\":[],\"actions\":[]}",
];

/// Texts and files that a reader accepts, or nearly.
pub fn of(reader: &Reader) -> Vec<Vec<u8>> {
    let written: &[&str] = match reader.name {
        "ltl" => FORMULAS,
        "never" => CLAIMS,
        "hoa" => AUTOMATA,
        "beem" => DESCRIPTIONS,
        "pddl_plan" => PLANS,
        "pddl_domain" => &[planning::DOMAIN],
        "pddl_problem" => &[planning::PROBLEM],
        "ppddl" => &[planning::CHANCES],
        "airland" => PLANES,
        "ledger" => RECORDS,
        _ => &[],
    };
    let mut seeds: Vec<Vec<u8>> = written.iter().map(|text| text.as_bytes().to_vec()).collect();
    seeds.extend(match reader.name {
        "run_file" => runs(),
        "manifest" | "ledger" => manifests(),
        "diagram" => diagrams(),
        _ => Vec::new(),
    });
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let beside = corpus::root();
    for folder in [bundled, beside.clone(), beside.join("../oracles")] {
        let mut found: Vec<Vec<u8>> = corpus::files(&folder, reader.extensions)
            .iter()
            .filter_map(|path| std::fs::read(path).ok())
            .filter(|text| text.len() <= MOST_BYTES && belongs(reader, text))
            .collect();
        let step = found.len().div_ceil(MOST_FILES).max(1);
        seeds.extend(found.drain(..).step_by(step));
    }
    seeds
}

/// Domains, problems and outcomes of chance share an extension.
fn belongs(reader: &Reader, text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    match reader.name {
        "pddl_domain" => text.contains("(domain ") && !text.contains("probabilistic"),
        "pddl_problem" => text.contains("(problem"),
        "ppddl" => text.contains("probabilistic"),
        _ => true,
    }
}

fn runs() -> Vec<Vec<u8>> {
    let shapes = [RecordShape::states(1), RecordShape::states(2), RecordShape::with_payload(1, 1)];
    let write = |shape: RecordShape| {
        let folder = FaultyFolder::default();
        let disk = Disk::new(Arc::new(folder.clone()), IoThreads::new(0), Governor::unlimited(), 0);
        let options = RunOptions { block_bytes: 512, ..RunOptions::new(shape, 0) };
        let mut writer = RunWriter::create(&disk, RunKind::Closed, &options).ok()?;
        for n in 0..300u64 {
            let record: Vec<u64> = (0..shape.stride() as u64).map(|word| n * 7 + word).collect();
            writer.push(&record).ok()?;
        }
        let run = writer.finish().ok()?;
        assert_eq!(run.name(), RUN, "checksums know the name");
        folder.bytes(RUN)
    };
    shapes.into_iter().filter_map(write).collect()
}

fn manifests() -> Vec<Vec<u8>> {
    let folder = FaultyFolder::default();
    let written = (|| {
        let vfs = Arc::new(folder.clone());
        let mut run =
            RunFolder::create(Medium::new(vfs, IoThreads::new(0), Governor::unlimited()), 7, 0).ok()?;
        let sections = [("search".to_owned(), b"{\"status\":\"running\"}".to_vec())].into();
        run.commit(Commit { sections, ..Commit::default() }).ok()
    })();
    let names = folder.list().unwrap_or_default().into_iter().map(|file| file.name);
    let bytes: Vec<Vec<u8>> =
        names.filter(|name| name.starts_with("manifest-")).filter_map(|name| folder.bytes(&name)).collect();
    if written.is_some() { bytes } else { Vec::new() }
}

fn diagrams() -> Vec<Vec<u8>> {
    let write = |words: usize| {
        let levels = Levels::even(words, words * 64, 8).ok()?;
        let mut diagram = Diagram::new(levels, &Governor::unlimited()).ok()?;
        let root = diagram.add_root("set");
        let states: Vec<u64> = (0..200u64).flat_map(|n| vec![n * 3; words]).collect();
        diagram.build(root, &states).ok()?;
        let mut bytes = Vec::new();
        diagram.write_to(&[root], &mut bytes).ok()?;
        Some(bytes)
    };
    [1, 2].into_iter().filter_map(write).collect()
}
