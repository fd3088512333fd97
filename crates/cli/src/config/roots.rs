//! The default root: the current folder, if it can be a repository.

use std::path::Path;

/// Folders that hold projects, or the system, and are none. What lies in them may be one.
const PROJECT_PARENT_DIRS: &[&str] = &[
    "/",
    "/Users",
    "/Volumes",
    "/dev/shm",
    "/home",
    "/media",
    "/mnt",
    "/mnt/c",
    "/mnt/c/Users",
    "/opt",
    "/opt/homebrew",
    "/private",
    "/private/tmp",
    "/private/var/folders",
    "/private/var/tmp",
    "/root",
    "/run/media",
    "/run/user",
    "/srv",
    "/tmp",
    "/usr/local/src",
    "/usr/src",
    "/var/folders",
    "/var/home",
    "/var/opt",
    "/var/srv",
    "/var/tmp",
    "/var/www",
];

/// Folders of the system. Nothing in them is a project, unless one of the holders lies between.
const SYSTEM_DIRS: &[&str] = &[
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/boot",
    "/cores",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/lost+found",
    "/mnt/c/Program Files",
    "/mnt/c/Program Files (x86)",
    "/mnt/c/ProgramData",
    "/mnt/c/Windows",
    "/nix",
    "/private/etc",
    "/private/var",
    "/proc",
    "/run",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var",
];

/// Whether a folder, with every link in its path resolved, can be a project: not `/`, not the user's home or what holds it,
/// and not a folder of the system. Clients often start servers there, and users do not mean to expose all of it.
pub(super) fn can_be_project(folder: &Path, home: Option<&Path>) -> bool {
    if home.is_some_and(|home| home.starts_with(folder))
        || PROJECT_PARENT_DIRS.iter().any(|holder| folder == *holder)
    {
        return false;
    }
    // Services have homes in odd places, and work in them.
    let own = home.filter(|home| home.components().count() > 2 && folder.starts_with(home));
    let depth = |folders: &[&str]| {
        let around = folders.iter().filter(|around| folder.starts_with(around));
        around.map(|around| Path::new(around).components().count()).max().unwrap_or(0)
    };
    own.is_some() || depth(PROJECT_PARENT_DIRS) >= depth(SYSTEM_DIRS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_and_system_folders_are_no_projects() {
        for (folder, home, expected) in [
            ("/home/ann/src/app", "/home/ann", true),
            ("/home/ann/app", "/home/ann", true),
            ("/home/ann", "/home/ann", false),
            ("/home", "/home/ann", false),
            ("/", "/home/ann", false),
            ("/", "", false),
            ("/", "/", false),
            ("/app", "/", true),
            ("/workspace", "/root", true),
            ("/workspaces/app", "/home/vscode", true),
            ("/root", "/root", false),
            ("/root", "/home/ann", false),
            ("/root/app", "/root", true),
            ("/Users/ann/app", "/Users/ann", true),
            ("/Users/ann", "/Users/ann", false),
            ("/Users", "/Users/ann", false),
            ("/Applications/Some.app/Contents", "/Users/ann", false),
            ("/System/Library", "/Users/ann", false),
            ("/Library", "/Users/ann", false),
            ("/data/homes/ann", "/data/homes/ann", false),
            ("/data/homes", "/data/homes/ann", false),
            ("/tmp", "/home/ann", false),
            ("/tmp/x", "/home/ann", true),
            ("/private/tmp", "/Users/ann", false),
            ("/private/tmp/x", "/Users/ann", true),
            ("/private/var/folders/ab/cd/T/x", "/Users/ann", true),
            ("/private/var/db", "/Users/ann", false),
            ("/var", "/home/ann", false),
            ("/var/tmp", "/home/ann", false),
            ("/var/tmp/x", "/home/ann", true),
            ("/var/log", "/home/ann", false),
            ("/var/www/site", "/home/ann", true),
            ("/var/lib/ci/work/app", "/var/lib/ci", true),
            ("/var/lib/ci", "/var/lib/ci", false),
            ("/var/lib/ci/work/app", "/home/ann", false),
            ("/usr", "/home/ann", false),
            ("/usr/bin", "/usr", false),
            ("/usr/local/bin", "/home/ann", false),
            ("/usr/src", "/root", false),
            ("/usr/src/app", "/root", true),
            ("/usr/lib/node_modules/x", "/root", false),
            ("/etc", "/home/ann", false),
            ("/etc/fluxway", "/home/ann", false),
            ("/etcetera", "/home/ann", true),
            ("/bin", "", false),
            ("/opt", "/home/ann", false),
            ("/opt/app", "/home/ann", true),
            ("/srv", "/home/ann", false),
            ("/srv/app", "/home/ann", true),
            ("/proc/self", "/home/ann", false),
            ("/dev", "/home/ann", false),
            ("/dev/shm/x", "/home/ann", true),
            ("/run/media/ann/disk/app", "/home/ann", true),
            ("/mnt/c/Windows/System32", "/home/ann", false),
            ("/mnt/c/Users/ann/app", "/home/ann", true),
        ] {
            let home = Some(Path::new(home)).filter(|home| !home.as_os_str().is_empty());
            assert_eq!(can_be_project(Path::new(folder), home), expected, "{folder} for {home:?}");
        }
    }
}
