//! Where the corpus of models is, and its table of published figures.

use std::path::{Path, PathBuf};

/// The folder of DVE models, or `None` (with a printed line) where there is no corpus.
pub fn folder() -> Option<PathBuf> {
    hadal_testkit::corpus::find("dve")
}

/// Every file below `folder` with this extension, in order.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    hadal_testkit::corpus::files(folder, &[extension])
}

/// One row of the table of published figures, by column name.
pub struct Row {
    columns: Vec<(String, String)>,
}

impl Row {
    /// The text in a column.
    pub fn get(&self, column: &str) -> &str {
        self.columns.iter().find(|(name, _)| name == column).map_or("", |(_, text)| text.as_str())
    }

    /// The number in a column.
    pub fn number(&self, column: &str) -> Option<u64> {
        self.get(column).parse().ok()
    }
}

/// The table of published figures.
pub fn known(folder: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(folder.join("KNOWN.tsv")).expect("KNOWN.tsv can be read");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or("").split('\t').collect();
    lines
        .map(|line| Row {
            columns: header
                .iter()
                .zip(line.split('\t'))
                .map(|(h, t)| (h.to_string(), t.to_string()))
                .collect(),
        })
        .collect()
}
