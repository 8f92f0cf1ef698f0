//! Which tasks of the corpus the suite takes, and what is known of them.

use std::path::{Path, PathBuf};

/// Two problems of every folder, with their domains: one early, one in the middle.
pub fn tasks(root: &Path, only: Option<&str>) -> Vec<(PathBuf, PathBuf)> {
    let mut folders = vec![root.to_owned()];
    let mut tasks = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        folders.extend(files.iter().filter(|path| path.is_dir()).rev().cloned());
        let named = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_pddl = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "pddl");
        let (domains, problems): (Vec<&PathBuf>, Vec<&PathBuf>) =
            files.iter().filter(is_pddl).partition(|path| named(path).contains("domain"));
        let mut chosen: Vec<&&PathBuf> =
            problems.first().into_iter().chain(problems.get(problems.len() / 2)).collect();
        chosen.dedup();
        for &&problem in &chosen {
            let stem = problem.file_stem().unwrap_or_default().to_string_lossy();
            let own = domains.iter().find(|domain| named(domain).contains(&*stem));
            let shared = domains.iter().find(|domain| named(domain) == "domain.pddl");
            let wanted = only.is_none_or(|only| problem.display().to_string().contains(only));
            if let Some(domain) = own.or(shared).or(domains.first()).filter(|_| wanted) {
                tasks.push(((*domain).clone(), problem.clone()));
            }
        }
    }
    tasks
}

/// Optimal costs by problem.
pub fn known(root: &Path) -> Vec<(String, f64)> {
    let text = std::fs::read_to_string(root.join("KNOWN.tsv")).unwrap_or_default();
    let row = |line: &str| {
        let mut columns = line.split('\t');
        Some((columns.next()?.to_owned(), columns.nth(1)?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}
