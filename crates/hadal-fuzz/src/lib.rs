//! Every reader of hadal, as a function of any bytes that must end without a panic.
//!
//! `fuzz/` runs them under coverage-guided fuzzing; `tests/bounded.rs` damages seeds with the test kit's source of
//! choices, on a stable toolchain, for as long as it is told.

mod files;
mod formulas;
mod models;
mod planning;
pub mod seeds;

/// A reader.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// The target's name in `fuzz/`.
    pub name: &'static str,
    /// Extensions of the files that it reads, for seeds.
    pub extensions: &'static [&'static str],
    /// Reads the bytes. Returns whether they were accepted.
    pub read: fn(&[u8]) -> bool,
}

/// All of them. `fuzz/Cargo.toml` has a target for each.
pub const READERS: &[Reader] = &[
    Reader { name: "murphi", extensions: &["m"], read: models::murphi },
    Reader { name: "dve", extensions: &["dve"], read: models::dve },
    Reader { name: "dve_family", extensions: &["mdve"], read: models::dve_family },
    Reader { name: "beem", extensions: &[], read: models::beem },
    Reader { name: "promela", extensions: &["pml", "spin"], read: models::promela },
    Reader { name: "prism", extensions: &["prism", "nm"], read: models::prism },
    Reader { name: "prism_properties", extensions: &["props", "pctl"], read: models::prism_properties },
    Reader { name: "tck", extensions: &["tck"], read: models::tck },
    Reader { name: "xta", extensions: &["xta"], read: models::xta },
    Reader { name: "uppaal_xml", extensions: &["xml"], read: models::uppaal_xml },
    Reader { name: "queries", extensions: &["q"], read: models::queries },
    Reader { name: "airland", extensions: &["txt"], read: models::airland },
    Reader { name: "pddl_domain", extensions: &["pddl"], read: planning::domain },
    Reader { name: "pddl_problem", extensions: &["pddl"], read: planning::problem },
    Reader { name: "pddl_plan", extensions: &["plan"], read: planning::plan },
    Reader { name: "ppddl", extensions: &["pddl"], read: planning::ppddl },
    Reader { name: "ltl", extensions: &[], read: formulas::ltl },
    Reader { name: "never", extensions: &[], read: formulas::never },
    Reader { name: "hoa", extensions: &["hoa"], read: formulas::hoa },
    Reader { name: "run_file", extensions: &[], read: files::run_file },
    Reader { name: "manifest", extensions: &[], read: files::manifest },
    Reader { name: "ledger", extensions: &[], read: files::ledger },
    Reader { name: "diagram", extensions: &[], read: files::diagram },
];

/// Runs the reader of this name; a target of `fuzz/` is one call.
///
/// # Panics
///
/// Where no reader has that name, and where the reader panics: that is what is looked for.
pub fn read(name: &str, data: &[u8]) {
    let reader = READERS.iter().find(|reader| reader.name == name);
    let Some(reader) = reader else { panic!("no reader is called {name}") };
    (reader.read)(data);
}
