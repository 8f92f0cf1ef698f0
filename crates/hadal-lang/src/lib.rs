//! Text in, [`hadal_system::System`] out: one folder per language, one registry, one diagnostic type for all.
//!
//! ```
//! use hadal_lang::{LoadOptions, LoadedModel};
//! # let folder = std::env::temp_dir().join(format!("hadal-lang-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("toggle.m");
//! std::fs::write(&path, "var x: boolean; startstate x := false; end; rule x := !x; end;")?;
//! let (language, loaded) = hadal_lang::load(&path, &LoadOptions::default())?;
//! assert_eq!(language.name, "Murphi");
//! let LoadedModel::System(system) = loaded.model else { panic!("Murphi models are systems") };
//! assert_eq!(system.actions.len(), 1);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
pub mod channel;
pub mod cpp;
pub mod diagnostic;
pub mod dve;
pub mod language;
pub mod murphi;
pub mod pddl;
pub mod prism;
pub mod promela;
pub mod ta;
pub mod text;
pub use diagnostic::{Diagnostic, Diagnostics, Refused, Severity};
pub use language::{
    Given, LANGUAGES, Language, LoadError, LoadOptions, Loaded, LoadedModel, Lowered, ModelErrors, Request,
    load,
};
