//! The files a sandboxed program may access. Landlock denies everything else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::environment::ProgramEnvironment;
use super::program;
use super::temp_home::TempHome;

/// Access to a path and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessRight {
    Read,
    /// Read and execute.
    Execute,
    /// Read and write existing files, without creating new ones.
    Device,
    /// Everything except creating devices.
    Full,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileAccess(pub(super) PathBuf, pub(super) AccessRight);

/// Where the system installs programs and libraries.
const SYSTEM_FOLDERS: [&str; 11] = [
    "/bin",
    "/gnu/store",
    "/home/linuxbrew/.linuxbrew",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/opt",
    "/run/current-system",
    "/sbin",
    "/usr",
];

const DEVICE_FILES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Machine information that runtimes read, and resolver configuration. None of it describes processes.
const MACHINE_INFO_PATHS: [&str; 14] = [
    "/mnt/wsl/resolv.conf",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/vm/overcommit_memory",
    "/proc/uptime",
    "/proc/version",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Everything that a program running in `tree` may access.
pub(super) fn allowed_access(
    tree: &Path,
    home: &TempHome,
    program: &Path,
    environment: &ProgramEnvironment,
) -> Vec<FileAccess> {
    let mut all = vec![
        FileAccess(tree.to_owned(), AccessRight::Full),
        FileAccess(home.path().to_owned(), AccessRight::Full),
    ];
    all.extend(DEVICE_FILES.map(|device| FileAccess(device.into(), AccessRight::Device)));
    all.extend(MACHINE_INFO_PATHS.map(|file| FileAccess(file.into(), AccessRight::Read)));

    let real_home = environment.user_home.as_deref();
    let mut ours = open_files();
    let mut of_users = environment.toolchains.clone();
    of_users.extend(environment.path.iter().cloned());
    of_users.extend(program::required_paths(program, &environment.path));
    let mut runnable = Vec::new();
    for place in of_users {
        // A link in the repository may point anywhere, so its target is not opened.
        let Some(place) = program::canonicalize_parent(&place).filter(|place| !place.starts_with(tree))
        else {
            continue;
        };
        let holds_the_home = real_home.is_some_and(|real_home| real_home.starts_with(&place));
        if !holds_the_home {
            collect_excluding(&place, &ours, &mut runnable);
        }
    }
    // A service account may have its home, with all its data, inside a system folder.
    ours.extend(real_home.map(Path::to_owned));
    for place in SYSTEM_FOLDERS {
        collect_excluding(Path::new(place), &ours, &mut runnable);
    }
    all.extend(runnable.into_iter().map(|place| FileAccess(place, AccessRight::Execute)));

    let mut settings = Vec::new();
    collect_world_readable(Path::new("/etc"), &ours, &mut settings);
    all.extend(settings.into_iter().map(|place| FileAccess(place, AccessRight::Execute)));
    all
}

/// Files that this process has open, such as its database and logs. The program gets no access to them,
/// whatever folder they are in.
#[expect(clippy::disallowed_methods, reason = "our own files are not part of a tree")]
fn open_files() -> Vec<PathBuf> {
    let handles = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    handles.filter_map(|handle| fs::read_link(handle.path()).ok()).filter(|file| file.is_file()).collect()
}

/// Collects a path, or, if it contains one of `closed`, everything in it except those.
#[expect(clippy::disallowed_methods, reason = "programs are not part of a tree")]
pub(super) fn collect_excluding(place: &Path, closed: &[PathBuf], into: &mut Vec<PathBuf>) {
    if closed.iter().any(|closed| place.starts_with(closed)) {
        return;
    }
    if !closed.iter().any(|closed| closed.starts_with(place)) {
        into.push(place.to_owned());
        return;
    }
    for inside in fs::read_dir(place).into_iter().flatten().flatten() {
        // The target of a link is covered at its real path.
        if inside.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            collect_excluding(&inside.path(), closed, into);
        }
    }
}

/// Collects what every user may read below a path, and returns whether that is all of it. The rest, such as
/// keys and passwords, may be readable only for this account.
#[expect(clippy::disallowed_methods, reason = "system settings are not part of a tree")]
pub(super) fn collect_world_readable(place: &Path, closed: &[PathBuf], into: &mut Vec<PathBuf>) -> bool {
    let Ok(about) = fs::symlink_metadata(place) else { return true };
    let mode = about.permissions().mode();
    if about.is_symlink() {
        return true;
    }
    if closed.iter().any(|closed| closed == place) {
        return false;
    }
    if about.is_dir() {
        if mode & 0o005 != 0o005 {
            return false;
        }
        let before = into.len();
        let mut is_all = true;
        for inside in fs::read_dir(place).into_iter().flatten().flatten() {
            is_all &= collect_world_readable(&inside.path(), closed, into);
        }
        if is_all {
            into.truncate(before);
            into.push(place.to_owned());
        }
        return is_all;
    }
    if mode & 0o004 == 0 {
        return false;
    }
    into.push(place.to_owned());
    true
}
