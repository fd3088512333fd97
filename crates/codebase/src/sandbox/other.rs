//! Systems without Landlock: nothing is confined but what the process module does everywhere.

use std::io;
use std::path::Path;

use super::file_access::FileAccess;

/// There is none.
pub(super) fn landlock_version() -> i32 {
    0
}

/// Nothing to do.
pub(super) fn restrict_thread(_: &[FileAccess], _: bool) -> io::Result<()> {
    Ok(())
}

/// Nothing to do.
pub(super) fn set_resource_limits(_: u32) -> io::Result<()> {
    Ok(())
}

/// The first process of a namespace: there are no namespaces.
pub(super) struct NamespaceInit;

impl NamespaceInit {
    /// There is none.
    pub(super) fn find(_: u32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Nothing to do.
    pub(super) fn kill(&self) {}
}

/// There are none to map.
pub(super) fn map_identity(_: u32, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
