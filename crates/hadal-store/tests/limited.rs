//! A folder with a limit of bytes.

use hadal_store::vfs::{Caching, LimitedFolder, Vfs};
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
