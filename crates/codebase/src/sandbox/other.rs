//! Stubs for systems without Landlock: only the measures in the `process` module apply.

use std::io;
use std::path::Path;

use super::file_access::FileAccess;

pub(super) fn landlock_version() -> i32 {
    0
}

pub(super) fn restrict_thread(_: &[FileAccess], _: bool) -> io::Result<()> {
    Ok(())
}

pub(super) fn set_resource_limits(_: u32) -> io::Result<()> {
    Ok(())
}

/// Never created: there are no PID namespaces here.
pub(super) struct NamespaceInit;

impl NamespaceInit {
    pub(super) fn find(_: u32) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn kill(&self) {}
}

pub(super) fn map_identity(_: u32, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
