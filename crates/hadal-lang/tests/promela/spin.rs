//! SPIN's counts, where it is installed with a compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What SPIN counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spin {
    pub states: usize,
    /// Without the start, which SPIN counts.
    pub transitions: usize,
    pub errors: usize,
    pub atomic_steps: usize,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)]
pub enum Graph {
    /// The states of the model.
    Plain,
    /// The states of the model with statements merged.
    Merged,
    /// The product with the claim in the text, with acceptance cycles.
    Watched,
}

/// A fast compiler, if there is one: the runs are short.
fn compiler() -> Option<&'static str> {
    let works = |name: &&str| Command::new(name).arg("-v").output().is_ok_and(|out| out.status.success());
    ["tcc", "cc"].into_iter().find(works)
}

/// Whether SPIN can be asked.
pub fn is_installed() -> bool {
    let spin = Command::new("spin").arg("-V").output().is_ok_and(|out| out.status.success());
    let both = spin && compiler().is_some();
    if !both {
        println!("skipped: spin or a C compiler is not installed");
    }
    both
}

/// Asks SPIN in a folder of its own. `Err`: it refuses the model, or is not done after a while.
pub fn ask(text: &str, graph: Graph, folder: &Path) -> Result<Spin, String> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let model: PathBuf = folder.join("model.pml");
    std::fs::write(&model, text).map_err(|error| error.to_string())?;
    let run = |command: &mut Command| -> Result<String, String> {
        let out = command.current_dir(folder).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        Ok(text)
    };
    let plain: &[&str] = if graph == Graph::Merged { &[] } else { &["-o1", "-o2", "-o3"] };
    let said = run(Command::new("spin").args(plain).args(["-a", "model.pml"]))?;
    if said.contains("rror:") || said.contains("error,") || !folder.join("pan.c").is_file() {
        return Err(format!("refused: {said}"));
    }
    let mut compile = Command::new(compiler().ok_or("no compiler")?);
    compile.args(["-w", "-DMEMLIM=500", "-DNOREDUCE", "-o", "pan", "pan.c"]);
    if text.contains("priority") {
        // Compressed states lack the priorities (`Air0` in pan.h counts the bytes before them only).
        compile.arg("-DNOCOMP");
    }
    match graph {
        Graph::Plain | Graph::Merged => compile.args(["-DSAFETY", "-DNOCLAIM"]),
        Graph::Watched => compile.arg("-DNFAIR=3"),
    };
    let said = run(&mut compile)?;
    if !folder.join("pan").is_file() {
        return Err(format!("not compiled: {said}"));
    }
    let mut pan = Command::new("timeout");
    pan.args(["20", "./pan", "-m200000", "-w16", "-n"]);
    match graph {
        Graph::Plain | Graph::Merged => pan.args(["-A", "-E", "-c0"]),
        Graph::Watched => pan.args(["-a", "-E"]),
    };
    let said = run(&mut pan)?;
    let number = |before: &str| -> Option<usize> {
        let at = said.find(before)?;
        said[..at].split_whitespace().last()?.parse().ok()
    };
    let errors = said.split("errors: ").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    if said.contains("max search depth too small") {
        return Err("too deep".into());
    }
    match (number("states, stored"), number("transitions ("), errors, number("atomic steps")) {
        (Some(states), Some(transitions), Some(errors), Some(atomic_steps)) => {
            Ok(Spin { states, transitions: transitions - 1, errors, atomic_steps })
        }
        _ => Err(format!("not done: {said}")),
    }
}
