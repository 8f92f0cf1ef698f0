//! Where the public PDDL files are, and how domains and problems belong together.

use hadal_system::Source;
use std::path::{Path, PathBuf};

/// A task of the corpus.
pub struct CorpusTask {
    pub domain: PathBuf,
    pub problem: PathBuf,
}

impl CorpusTask {
    /// Both texts.
    pub fn sources(&self) -> (Source, Source) {
        (source(&self.domain), source(&self.problem))
    }

    /// The plan beside the problem with the cost in its first line, where there is one.
    pub fn plan(&self) -> Option<(String, String)> {
        let text = std::fs::read_to_string(self.problem.with_extension("plan")).ok()?;
        let cost = text.lines().next()?.rsplit(' ').next()?.to_string();
        Some((text, cost))
    }
}

fn source(path: &Path) -> Source {
    let bytes = std::fs::read(path).unwrap();
    Source::new(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned())
}

/// Every task, in order of paths; none where the test is skipped because the corpus is absent.
pub fn tasks() -> Vec<CorpusTask> {
    let mut list = Vec::new();
    if let Some(root) = hadal_testkit::corpus::find("pddl") {
        gather(&root, &mut list);
    }
    list
}

/// How a file is called below the folder of the corpus.
pub fn name(path: &Path) -> String {
    let root = hadal_testkit::corpus::find("pddl").unwrap_or_default();
    path.strip_prefix(&root).unwrap_or(path).display().to_string()
}

/// Every file with this ending, in order of paths.
pub fn files(ending: &str) -> Vec<PathBuf> {
    let mut list = Vec::new();
    let mut folders: Vec<PathBuf> = hadal_testkit::corpus::find("pddl").into_iter().collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                list.push(path);
            }
        }
    }
    list.sort();
    list
}

fn gather(folder: &Path, list: &mut Vec<CorpusTask>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            gather(&path, list);
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".pddl").filter(|_| !name.contains("domain")) else { continue };
        let candidates =
            ["domain.pddl".to_string(), format!("domain_{stem}.pddl"), format!("{stem}-domain.pddl")];
        if let Some(domain) = candidates.iter().map(|name| folder.join(name)).find(|domain| domain.exists()) {
            list.push(CorpusTask { domain, problem: path });
        }
    }
}
