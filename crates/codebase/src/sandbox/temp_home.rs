//! The home of one run: empty at the start, gone at the end.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that only this user may enter. It is removed when this is dropped.
pub(super) struct TempHome {
    folder: TempDir,
    path: PathBuf,
}

impl TempHome {
    /// Makes one, outside the tree if there is one.
    #[expect(clippy::disallowed_methods, reason = "it lies in no tree")]
    pub(super) fn create(tree: Option<&Path>) -> io::Result<Self> {
        let usual = std::env::temp_dir();
        let is_inside = tree.is_some_and(|tree| usual.starts_with(tree));
        let place = if is_inside { Path::new("/tmp") } else { &usual };
        let folder = tempfile::Builder::new()
            .prefix("fluxway-run-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)?;
        // Links on the way are followed now, so that programs which compare paths are not confused.
        let path = folder.path().canonicalize()?;
        for inside in Self::SUBFOLDERS {
            fs::create_dir(path.join(inside))?;
        }
        Ok(Self { folder, path })
    }

    /// The folders that it has from the start: temporary files, and those that the XDG directories name.
    pub(super) const SUBFOLDERS: [&str; 5] = ["tmp", ".cache", ".config", ".data", ".state"];

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempHome {
    /// Programs leave folders that cannot be written to (Go does), and those would stay.
    #[expect(clippy::disallowed_methods, reason = "it lies in no tree")]
    fn drop(&mut self) {
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            // All programs of the run are gone: nothing replaces a folder by a link meanwhile.
            let _ = fs::set_permissions(&folder, Permissions::from_mode(0o700)); // removing it shows whether it helped
            let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(
                inside.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()),
            );
        }
    }
}
