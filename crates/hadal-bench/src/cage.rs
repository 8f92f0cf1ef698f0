//! A limit of the system on a child's memory, page cache included: a control group (cgroup v2), where one may be made.
//!
//! hadal reads and writes its run files past the page cache, so measurements hold without it; the limit proves it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A group of its own for one child at a time.
pub struct Cage {
    folder: PathBuf,
}

impl Cage {
    /// Makes a group beside or below this process's own; `None` where the system does not let us limit memory that way.
    pub fn new() -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        let root = Path::new("/sys/fs/cgroup");
        let own = root.join(own.trim_start_matches('/'));
        let mut places = vec![own.clone()];
        places.extend(own.parent().filter(|parent| parent.starts_with(root)).map(Path::to_owned));
        places.iter().find_map(|place| Cage::below(place))
    }

    fn below(place: &Path) -> Option<Self> {
        let folder = place.join(format!("hadal-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        // From here on dropping it removes the folder again.
        let cage = Cage { folder };
        cage.folder.join("memory.max").is_file().then_some(cage)
    }

    /// The same command inside the group, with at most `bytes` of memory and no swap; as it was where that is refused.
    pub fn enclose(&self, command: Command, bytes: u64) -> Command {
        if std::fs::write(self.folder.join("memory.max"), bytes.to_string()).is_err() {
            return command;
        }
        // A system without swap has no such file.
        let _ = std::fs::write(self.folder.join("memory.swap.max"), "0");
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""]).arg(&self.folder);
        inside.arg(command.get_program()).args(command.get_args());
        inside
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        // A group whose processes have ended can be removed; what cannot is empty and harmless.
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_limits_no_memory_is_no_cage_and_is_left_clean() {
        let place = tempfile::tempdir().expect("a temporary folder");
        assert!(Cage::below(place.path()).is_none());
        assert_eq!(std::fs::read_dir(place.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn an_enclosed_command_joins_the_group_and_is_otherwise_the_same() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let cage = Cage { folder: place.path().to_owned() };
        let mut command = Command::new("echo");
        command.args(["a b", "c"]);
        let output = cage.enclose(command, 4096).output().expect("sh runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a b c\n");
        let read = |name: &str| std::fs::read_to_string(place.path().join(name)).expect("it is written");
        assert_eq!(read("memory.max"), "4096");
        assert!(read("cgroup.procs").trim().parse::<u32>().is_ok());
    }
}
