//! Folders over others: with a limit of bytes, with a memory.

use hadal_store::Governor;
use hadal_store::vfs::{CachedFolder, Caching, LimitedFolder, Vfs};
use hadal_testkit::FaultyFolder;
use std::io;
use std::sync::Arc;

#[test]
fn writes_beyond_the_limit_fail_and_removed_files_make_room() {
    let inner = FaultyFolder::default();
    inner.put("old", vec![0; 30]);
    let folder = LimitedFolder::new(Arc::new(inner), 100).unwrap();
    assert_eq!(folder.free_bytes().unwrap(), 70);
    let file = folder.create("new", Caching::Buffered).unwrap();
    file.write_at(0, &[1; 60]).unwrap();
    file.write_at(0, &[2; 60]).unwrap();
    assert_eq!(file.write_at(60, &[1; 11]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.set_len(20).unwrap();
    file.write_at(20, &[3; 50]).unwrap();
    assert_eq!(folder.free_bytes().unwrap(), 0);
    folder.remove("old").unwrap();
    assert_eq!(folder.free_bytes().unwrap(), 30);
    folder.rename("new", "newer").unwrap();
    folder.remove("newer").unwrap();
    drop(file);
    assert_eq!(folder.free_bytes().unwrap(), 100);
}

#[test]
fn recent_files_are_kept_within_the_budget_and_reach_the_disk_when_they_must() {
    let inner = Arc::new(FaultyFolder::default());
    let folder = CachedFolder::new(inner.clone(), Governor::new(1000));
    let write = |name: &str, length: usize| {
        let file = folder.create(name, Caching::Buffered).unwrap();
        file.write_at(0, &vec![name.as_bytes()[0]; length]).unwrap();
        file.set_len(length as u64 - 1).unwrap();
    };
    let read = |name: &str| {
        let mut bytes = vec![0; 1000];
        let got = folder.open(name, Caching::Buffered).unwrap().read_at(3, &mut bytes).unwrap();
        bytes.truncate(got);
        bytes
    };
    let below = || {
        let mut names: Vec<String> = inner.list().unwrap().into_iter().map(|entry| entry.name).collect();
        names.sort();
        names
    };
    write("a", 200);
    write("b", 200);
    assert_eq!(below(), [""; 0], "nothing is written that is kept");
    write("large", 600);
    assert_eq!(below(), ["large"], "what would take most of the memory is written at once");
    folder.open("b", Caching::Buffered).unwrap().sync().unwrap();
    assert_eq!(below(), ["b", "large"], "what is synced is written");
    for (name, length) in [("a", 196), ("b", 196), ("large", 596)] {
        assert_eq!(read(name), vec![name.as_bytes()[0]; length]);
    }
    // The oldest make room for the newest, and are read from below.
    for name in ["c", "d", "e", "f"] {
        write(name, 240);
    }
    assert_eq!(below(), ["a", "b", "large"]);
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(read(name)[0], name.as_bytes()[0]);
    }
    folder.remove("f").unwrap();
    folder.remove("a").unwrap();
    assert!(folder.open("f", Caching::Buffered).is_err() && folder.open("a", Caching::Buffered).is_err());
    assert_eq!(below(), ["b", "large"]);
}
