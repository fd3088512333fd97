//! The temporary home directory of one run.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that is accessible only to this user, and removed on drop.
pub(super) struct TempHome {
    folder: TempDir,
    path: PathBuf,
}

impl TempHome {
    /// Creates the folder, outside the tree if one is given.
    #[expect(clippy::disallowed_methods, reason = "it is not part of a tree")]
    pub(super) fn create(tree: Option<&Path>) -> io::Result<Self> {
        let usual = std::env::temp_dir();
        let is_inside = tree.is_some_and(|tree| usual.starts_with(tree));
        let place = if is_inside { Path::new("/tmp") } else { &usual };
        let folder = tempfile::Builder::new()
            .prefix("fluxway-run-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)?;
        // Resolve links now, so that programs that compare paths are not confused.
        let path = folder.path().canonicalize()?;
        for inside in Self::SUBFOLDERS {
            fs::create_dir(path.join(inside))?;
        }
        Ok(Self { folder, path })
    }

    /// Created up front: the folder for temporary files and the XDG directories.
    pub(super) const SUBFOLDERS: [&str; 5] = ["tmp", ".cache", ".config", ".data", ".state"];

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempHome {
    /// Makes all folders writable first: programs such as Go leave read-only folders, which could not be
    /// removed.
    #[expect(clippy::disallowed_methods, reason = "it is not part of a tree")]
    fn drop(&mut self) {
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            // All programs of the run have ended, so no folder can be swapped for a link in the meantime.
            let _ = fs::set_permissions(&folder, Permissions::from_mode(0o700)); // a failure shows up when it is removed
            let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
            folders.extend(
                inside.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()),
            );
        }
    }
}
