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
fn recent_files_are_remembered_within_the_budget_and_read_the_same() {
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
    write("a", 200);
    write("large", 600);
    write("b", 200);
    assert_eq!(read("a"), vec![b'a'; 196]);
    assert_eq!(read("large"), vec![b'l'; 596]);
    // Behind its back: what is remembered is not read again, what was too large is.
    for name in ["a", "b", "large"] {
        inner.put(name, vec![b'?'; 50]);
    }
    assert_eq!((read("a"), read("b"), read("large")), (vec![b'a'; 196], vec![b'b'; 196], vec![b'?'; 47]));
    // The oldest make room for the newest.
    for name in ["c", "d", "e", "f"] {
        write(name, 240);
    }
    assert_eq!((read("a"), read("b"), read("f")), (vec![b'?'; 47], vec![b'?'; 47], vec![b'f'; 236]));
    folder.remove("f").unwrap();
    assert!(folder.open("f", Caching::Buffered).is_err());
}
