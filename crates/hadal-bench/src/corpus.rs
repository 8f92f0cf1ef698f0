//! Where the models of the suites lie: `HADAL_CORPUS`, or `../shared/models` seen from here or from the workspace.

use super::suite::Case;
use crate::error::BenchError;
use std::path::{Path, PathBuf};

/// A folder that has every model asked for.
#[derive(Debug)]
pub struct Corpus {
    root: PathBuf,
}

impl Corpus {
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
            None => Ok(Corpus { root: root.clone() }),
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
        self.root.join(&case.model)
    }
}
