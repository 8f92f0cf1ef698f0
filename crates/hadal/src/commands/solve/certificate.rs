//! `hadal check-certificate`: a certificate against the model, without solving anything.

use super::asking::{Asking, ppddl, questions};
use crate::args::{Given, parse_override};
use crate::failure::Failure;
use crate::output;
use clap::Args;
use hadal_check::options::parse_size;
use hadal_exec::{Model, ModelOptions};
use hadal_store::vfs::{Folder, IoThreads};
use hadal_store::{Disk, Governor};
use hadal_value::certificate::{self, CheckError, Reader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Memory budget for sorting claims; what does not fit is in files.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "256M")]
    pub memory: u64,
    /// Folder for those files. Default: the system's temporary folder.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
}

/// Checks a certificate; returns the exit code: 1 where it does not show what it claims.
pub fn check_certificate(args: &CheckCertificateArgs) -> Result<u8, Failure> {
    let failed = |error| Failure::File { path: args.certificate.clone(), error };
    let file = std::fs::File::open(&args.certificate).map_err(failed)?;
    let reader = Reader::open(std::io::BufReader::new(file)).map_err(failed)?;
    let (formula, value) = (reader.formula.clone(), reader.value);
    let asked = Asking {
        model: &args.model,
        problem: args.problem.as_deref(),
        define: &args.define,
        properties: args.properties.as_deref(),
        formula: Some(&formula),
        property: None,
    };
    let scratch = Scratch::new(args.disk.as_deref(), args.memory)?;
    let checked = if asked.is_ppddl() {
        let (space, system, objective) = ppddl(&asked)?;
        certificate::check(&space, &system, &objective, (value, reader), &scratch.disk)
    } else {
        let (loaded, objectives) = questions(&asked)?;
        let model = Model::new(loaded.into_system(), ModelOptions::default())
            .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.display())))?;
        let Some(objective) = objectives.first() else {
            return Err(Failure::Usage("the certificate asks nothing".into()));
        };
        certificate::check(&model, model.system(), objective, (value, reader), &scratch.disk)
    };
    let (lower, upper) = value;
    match checked {
        Ok(states) => {
            output::line(&format!(
                "{formula}\n  proved    between {lower:?} and {upper:?}, {states} states"
            ))?;
            Ok(0)
        }
        Err(CheckError::Flaw(flaw)) => {
            output::line(&format!("{formula}\n  not proved: {flaw}"))?;
            Ok(1)
        }
        Err(CheckError::Read(error)) => Err(failed(error)),
        Err(CheckError::Disk(error)) => {
            output::line(&format!("{formula}\n  stopped: {error}"))?;
            Ok(3)
        }
    }
}

/// A folder for sorted claims, gone when they are checked.
struct Scratch {
    folder: PathBuf,
    disk: Disk,
}

impl Scratch {
    fn new(place: Option<&Path>, memory: u64) -> Result<Self, Failure> {
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        let folder = place.join(format!("hadal-certificate-{}", std::process::id()));
        let files = Folder::create(&folder).map_err(|error| Failure::File { path: folder.clone(), error })?;
        let disk = Disk::new(Arc::new(files), IoThreads::new(1), Governor::new(memory), 0);
        Ok(Scratch { folder, disk })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind is only space.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
