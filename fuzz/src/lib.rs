//! What the fuzz targets share.

use hadal_lang::{Language, LoadOptions, LoadedModel, Request};
use hadal_system::{Source, validate::validate};
use std::path::Path;

/// Reads a text as a model in the file `name`, whose ending says the language; what is accepted is well formed.
pub fn read_model(name: &str, data: &[u8]) {
    let path = Path::new(name);
    let Some(language) = Language::of(path) else { panic!("{name}: no language has this ending") };
    let source = Source::new(name, String::from_utf8_lossy(data).into_owned());
    let request = Request { path, source, options: &LoadOptions::default() };
    match (language.load)(request) {
        Ok(loaded) => {
            loaded.render_warnings();
            if let LoadedModel::System(system) = &loaded.model {
                assert_eq!(validate(system), []);
            }
        }
        Err(error) => drop(error.to_string()),
    }
}
