//! `fluxway index --out FILE` replaces an index, and nothing else.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::process::run;

fn write_documents(folder: &Path) -> String {
    let docs = folder.join("docs");
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("a.md"), "# Cake\n\nThere is cake on Thursdays.\n").unwrap();
    docs.to_str().unwrap().to_owned()
}

/// All that lies in a folder: name, kind, inode, content.
fn folder_snapshot(folder: &Path) -> Vec<(String, FileKind, u64, Vec<u8>)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let about = fs::symlink_metadata(entry.path()).unwrap();
            let content = if about.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            (entry.file_name().into_string().unwrap(), about.file_type(), about.ino(), content)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

type FileKind = fs::FileType;

#[test]
fn only_index_files_are_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (docs, at) = (write_documents(folder.path()), |name: &str| folder.path().join(name));
    let (code, _, err) = run(&["index", &docs, "--out", at("real.index").to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
    fs::write(at("diary"), "Dear diary").unwrap();
    fs::write(at("short"), "FXIN").unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("real.index", at("to an index")).unwrap();
    symlink("diary", at("to a diary")).unwrap();
    symlink("nowhere", at("to nothing")).unwrap();
    symlink("folder", at("to a folder")).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _listener = UnixListener::bind(at("socket")).unwrap();
    // Whoever may make none cannot lose one either.
    let has_device = mknodat(CWD, at("device"), FileType::CharacterDevice, Mode::RWXU, 0).is_ok();
    let before = folder_snapshot(folder.path());
    for (name, what) in [
        ("diary", "a file of another kind"),
        ("short", "a file of another kind"),
        ("empty", "a file of another kind"),
        ("folder", "a folder"),
        ("to an index", "a symbolic link"),
        ("to a diary", "a symbolic link"),
        ("to nothing", "a symbolic link"),
        ("to a folder", "a symbolic link"),
        ("pipe", "a device, a pipe or a socket"),
        ("socket", "a device, a pipe or a socket"),
        ("device", "a device, a pipe or a socket"),
    ] {
        if name == "device" && !has_device {
            continue;
        }
        let (code, out, err) = run(&["index", &docs, "--out", at(name).to_str().unwrap()]);
        assert_eq!((code, out.as_str()), (1, ""), "{name}: {err}");
        let says = format!("error: `{name}` is {what}, not an index of documents; nothing was changed");
        assert!(err.starts_with(&says), "{name}: {err}");
        assert_eq!(folder_snapshot(folder.path()), before, "{name}");
    }
    assert!(!has_device || fs::symlink_metadata(at("device")).unwrap().file_type().is_char_device());
}

#[test]
fn index_is_replaced_despite_hard_links_and_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (docs, at) = (write_documents(folder.path()), |name: &str| folder.path().join(name));
    let out = at("own.index");
    let index = || run(&["index", &docs, "--out", out.to_str().unwrap()]);
    assert_eq!(index().0, 0);
    fs::hard_link(&out, at("kept.index")).unwrap();
    let old = fs::read(&out).unwrap();
    fs::write(at("docs/b.md"), "# Tea\n\nThere is tea on Fridays.\n").unwrap();
    assert_eq!(index().0, 0);
    assert_eq!(fs::read(at("kept.index")).unwrap(), old);
    assert_ne!(fs::read(&out).unwrap(), old);
    // One of another format, or a damaged one, is still one.
    fs::write(&out, "FXINDEX1 and nothing else").unwrap();
    assert_eq!(index().0, 0);
    // The name that is written to first may be somebody's too.
    fs::write(at("own.index.new"), "Dear diary").unwrap();
    let before = folder_snapshot(folder.path());
    let (code, _, err) = index();
    assert_eq!(code, 1);
    assert!(err.contains("`own.index.new` is a file of another kind"), "{err}");
    assert_eq!(folder_snapshot(folder.path()), before);
}
