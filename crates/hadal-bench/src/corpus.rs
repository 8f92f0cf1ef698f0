//! Where the models of the suites lie: `HADAL_CORPUS`, or `../shared/models` seen from here or from the workspace. Bundled
//! models lie in the benchmark's own folder.

use super::suite::Case;
use crate::bundled;
use crate::error::BenchError;
use crate::scratch::Scratch;
use std::path::{Path, PathBuf};

/// A folder that has every model asked for.
#[derive(Debug)]
pub struct Corpus {
    root: PathBuf,
    /// Has the bundled models in a folder `models`.
    bundled: Option<PathBuf>,
}

impl Corpus {
    /// Finds the folder, which only cases that are not bundled need; the bundled models are written to `scratch`.
    pub fn with_bundled(cases: &[&Case], scratch: &Scratch) -> Result<Self, BenchError> {
        bundled::write_all(scratch)?;
        let others: Vec<&Case> = cases.iter().filter(|case| !case.is_bundled()).copied().collect();
        let root = if others.is_empty() { PathBuf::new() } else { Corpus::find(&others)?.root };
        Ok(Corpus { root, bundled: Some(scratch.folder().to_owned()) })
    }

    /// Finds the folder; it must have all models of `cases`.
    pub fn find(cases: &[&Case]) -> Result<Self, BenchError> {
        let named = std::env::var_os("HADAL_CORPUS").map(PathBuf::from);
        let candidates = match named {
            Some(root) => vec![root],
            None => vec![
                PathBuf::from("../shared/models"),
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models"),
            ],
        };
        let Some(root) = candidates.iter().find(|root| root.is_dir()) else {
            let tried: Vec<_> = candidates.iter().map(|c| c.display().to_string()).collect();
            return Err(BenchError::Usage(format!(
                "the folder of models is not there (tried {}); name it with the environment variable HADAL_CORPUS",
                tried.join(" and ")
            )));
        };
        match cases.iter().find(|case| !root.join(&case.model).is_file()) {
            Some(case) => Err(BenchError::Usage(format!(
                "{} has no {}; name another folder of models with the environment variable HADAL_CORPUS",
                root.display(),
                case.model
            ))),
            None => Ok(Corpus { root: root.clone(), bundled: None }),
        }
    }

    /// The Promela twin of a BEEM model, where there is one.
    pub fn twin(&self, case: &Case) -> Option<PathBuf> {
        let name = Path::new(&case.model).file_stem()?;
        let twin = self.root.join("promela/beem").join(format!("{}.pm", name.to_string_lossy()));
        // SPIN runs in a folder of its own.
        std::fs::canonicalize(twin).ok()
    }

    /// A folder of it.
    pub fn path_of(&self, folder: &str) -> PathBuf {
        self.root.join(folder)
    }

    /// The model of a case.
    pub fn path(&self, case: &Case) -> PathBuf {
        let bundled = self.bundled.as_ref().filter(|_| case.is_bundled());
        bundled.unwrap_or(&self.root).join(&case.model)
    }
}
