//! `hadal check-certificate`: a certificate against the model, without solving anything.

use super::asking::{Asking, ppddl, questions};
use crate::args::{Given, parse_override};
use crate::failure::Failure;
use crate::output;
use clap::Args;
use hadal_exec::{Model, ModelOptions};
use hadal_value::certificate::{self, Certificate};
use std::path::PathBuf;

/// Arguments of `check-certificate`.
#[derive(Args, Clone, Debug)]
pub struct CheckCertificateArgs {
    /// The certificate.
    pub certificate: PathBuf,
    /// The model: PRISM's language, or a PPDDL domain.
    pub model: PathBuf,
    /// The problem of a PPDDL domain, if it is in a file of its own.
    pub problem: Option<PathBuf>,
    /// Give a constant of the model or of the question a value; may be repeated.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_override)]
    pub define: Vec<(String, Given)>,
    /// The file of properties, if it defines labels of the question. Default: as for solve.
    #[arg(long, value_name = "FILE")]
    pub properties: Option<PathBuf>,
}

/// Checks a certificate; returns the exit code: 1 where it does not show what it claims.
pub fn check_certificate(args: &CheckCertificateArgs) -> Result<u8, Failure> {
    let failed = |error| Failure::File { path: args.certificate.clone(), error };
    let file = std::fs::File::open(&args.certificate).map_err(failed)?;
    let certificate = Certificate::read(std::io::BufReader::new(file)).map_err(failed)?;
    let asked = Asking {
        model: &args.model,
        problem: args.problem.as_deref(),
        define: &args.define,
        properties: args.properties.as_deref(),
        formula: Some(&certificate.formula),
        property: None,
    };
    let checked = if asked.is_ppddl() {
        let (space, system, objective) = ppddl(&asked)?;
        certificate::check(&space, &system, &objective, &certificate)
    } else {
        let (loaded, objectives) = questions(&asked)?;
        let model = Model::new(loaded.into_system(), ModelOptions::default())
            .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.display())))?;
        let Some(objective) = objectives.first() else {
            return Err(Failure::Usage("the certificate asks nothing".into()));
        };
        certificate::check(&model, model.system(), objective, &certificate)
    };
    let (lower, upper) = certificate.value;
    match checked {
        Ok(()) => {
            let states = certificate.claims.len();
            output::line(&format!(
                "{}\n  proved    between {lower:?} and {upper:?}, {states} states",
                certificate.formula
            ))?;
            Ok(0)
        }
        Err(flaw) => {
            output::line(&format!("{}\n  not proved: {flaw}", certificate.formula))?;
            Ok(1)
        }
    }
}
