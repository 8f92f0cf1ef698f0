//! Models, and what stands beside them.

use hadal_lang::dve::beem::Description;
use hadal_lang::{Language, LoadOptions, LoadedModel, Request, prism, ta};
use hadal_system::{Source, validate::validate};
use std::collections::HashMap;
use std::path::Path;

/// Reads a text as a model in the file `name`, whose extension says the language. What is accepted must be well formed.
fn read_model(name: &str, data: &[u8], options: &LoadOptions) -> bool {
    let path = Path::new(name);
    let Some(language) = Language::of(path) else { panic!("{name}: no language has this extension") };
    let source = Source::new(name, String::from_utf8_lossy(data).into_owned());
    match (language.load)(Request { path, source, options }) {
        Ok(loaded) => {
            loaded.render_warnings();
            if let LoadedModel::System(system) = &loaded.model {
                assert_eq!(validate(system), [], "{name} is accepted");
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal says why");
            false
        }
    }
}

pub(crate) fn murphi(data: &[u8]) -> bool {
    read_model("fuzzed.m", data, &LoadOptions::default())
}

pub(crate) fn dve(data: &[u8]) -> bool {
    read_model("fuzzed.dve", data, &LoadOptions::default())
}

pub(crate) fn dve_family(data: &[u8]) -> bool {
    read_model("fuzzed.mdve", data, &LoadOptions::default())
}

pub(crate) fn promela(data: &[u8]) -> bool {
    read_model("fuzzed.pml", data, &LoadOptions::default())
}

pub(crate) fn prism(data: &[u8]) -> bool {
    read_model("fuzzed.prism", data, &LoadOptions::default())
}

pub(crate) fn tck(data: &[u8]) -> bool {
    read_model("fuzzed.tck", data, &LoadOptions::default())
}

pub(crate) fn xta(data: &[u8]) -> bool {
    read_model("fuzzed.xta", data, &LoadOptions::default())
}

pub(crate) fn uppaal_xml(data: &[u8]) -> bool {
    read_model("fuzzed.xml", data, &LoadOptions::default())
}

/// BEEM's descriptions of models.
pub(crate) fn beem(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let description = Description::parse(&text, Some("1"), None);
    !description.properties.is_empty()
}

/// Questions about a PRISM model.
pub(crate) fn prism_properties(data: &[u8]) -> bool {
    let model = "mdp const int N = 2; module m x : [0..N] init 0; b : bool; [a] x<N -> 0.5 : (x'=x+1) + 0.5 : (b'=!b); \
                 [] x=N -> true; endmodule label \"done\" = x=N; rewards \"r\" [a] x>0 : 2; b : 1; endrewards";
    let Ok(mut loaded) = prism::load(Source::new("model.prism", model), &HashMap::new()) else {
        panic!("the model is right")
    };
    let text = String::from_utf8_lossy(data).into_owned();
    let formula = loaded.formula(text.trim()).is_ok();
    match loaded.add_properties(Source::new("fuzzed.props", text)) {
        Ok(()) => {
            for name in loaded.properties() {
                let _ = loaded.property(&name);
            }
            true
        }
        Err(refused) => {
            assert!(refused.diagnostics.has_errors(), "a refusal says why");
            formula
        }
    }
}

/// Queries in a file beside a UPPAAL model.
pub(crate) fn queries(data: &[u8]) -> bool {
    const MODEL: &[u8] = b"clock x; int[0,3] v; const int N = 2; chan go;\n\
        process P() { clock y; state a { x <= 3 }, b; init a; trans a -> b { guard x >= 1; sync go!; assign v := 1, y := 0; }; }\n\
        process Q(const int[0,1] id) { state a, b; init a; trans a -> b { sync go?; }; }\n\
        one = P(); two = Q(1); system one, two;\n";
    let Ok(file) = tempfile::NamedTempFile::new() else { return false };
    if std::fs::write(file.path(), data).is_err() {
        return false;
    }
    let options = LoadOptions { queries: Some(file.path().to_owned()), ..LoadOptions::default() };
    read_model("model.xta", MODEL, &options)
}

/// Planes of the OR-Library.
pub(crate) fn airland(data: &[u8]) -> bool {
    match ta::landing::model(&String::from_utf8_lossy(data), 2, 1) {
        Ok(model) => {
            assert!(tck(model.as_bytes()), "what is written can be read");
            true
        }
        Err(what) => {
            assert!(!what.is_empty());
            false
        }
    }
}
