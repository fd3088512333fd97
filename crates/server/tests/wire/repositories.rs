//! Small repositories as texts: `=== path` begins a file.

use std::path::PathBuf;

use tempfile::TempDir;

/// Writes one into a folder of its own.
pub(crate) fn unpack(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for file in text.split("\n=== ").skip(1) {
        let (name, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

pub(crate) const SUPPORT_BOT: &str = include_str!("repositories/support-bot.txt");
pub(crate) const TWO_SERVICES: &str = include_str!("repositories/two-services.txt");
pub(crate) const WEB_CHAT: &str = include_str!("repositories/web-chat.txt");
pub(crate) const TWO_LANGUAGES: &str = include_str!("repositories/two-languages.txt");
pub(crate) const UNCLEAR_FIELD: &str = include_str!("repositories/unclear-field.txt");
pub(crate) const SHADOWED: &str = include_str!("repositories/shadowed.txt");
pub(crate) const ROMAN: &str = include_str!("repositories/roman.txt");
pub(crate) const HOSTILE_PYTHON: &str = include_str!("repositories/hostile-python.txt");
pub(crate) const HOSTILE_NODE: &str = include_str!("repositories/hostile-node.txt");
