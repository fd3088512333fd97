//! Linux confinement: Landlock, resource limits, and namespaces that are set up from the parent.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getegid, geteuid, getrlimit, getuid, pidfd_open,
    pidfd_send_signal, prlimit,
};
use rustix::thread::set_no_new_privs;

use super::file_access::{AccessRight, FileAccess};

/// The newest Landlock ABI used here. An older kernel enforces the subset it supports.
const SUPPORTED_ABI: ABI = ABI::V9;

/// The Landlock ABI version that the kernel enforces; 0 if none.
pub(super) fn landlock_version() -> i32 {
    // The version is only known after restricting a thread, so use one that exits immediately.
    let restrict = || create_ruleset().and_then(|rules| rules.restrict_self().map_err(io::Error::other));
    let Ok(thread) = std::thread::Builder::new().spawn(restrict) else { return 0 };
    match thread.join() {
        Ok(Ok(status)) if status.ruleset != RulesetStatus::NotEnforced => match status.landlock {
            LandlockStatus::Available { effective_abi, .. } => effective_abi as i32,
            _ => 0,
        },
        _ => 0,
    }
}

fn create_ruleset() -> io::Result<RulesetCreated> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(SUPPORTED_ABI))
        .and_then(|rules| rules.scope(Scope::from_all(SUPPORTED_ABI)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)
}

/// Irrevocably restricts this thread, and everything started from it, to these paths. It can no longer gain
/// privileges, and cannot inspect or signal processes outside the sandbox.
#[expect(clippy::disallowed_methods, reason = "these paths are not part of a tree")]
pub(super) fn restrict_thread(places: &[FileAccess], is_offered: bool) -> io::Result<()> {
    set_no_new_privs(true)?;
    if !is_offered {
        return Ok(());
    }
    let mut rules = create_ruleset()?;
    for FileAccess(path, right) in places {
        let Ok(file) = PathFd::new(path) else {
            continue; // a missing path needs no rule
        };
        let is_folder = fs::metadata(path).is_ok_and(|about| about.is_dir());
        let access = if is_folder {
            access_flags(*right)
        } else {
            access_flags(*right) & AccessFs::from_file(SUPPORTED_ABI)
        };
        rules = rules.add_rule(PathBeneath::new(file, access)).map_err(io::Error::other)?;
    }
    let status = rules.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("the kernel did not enforce the sandbox"));
    }
    Ok(())
}

fn access_flags(right: AccessRight) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    match right {
        AccessRight::Read => read | AccessFs::ResolveUnix,
        AccessRight::Execute => read | AccessFs::Execute,
        AccessRight::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
        AccessRight::Full => {
            AccessFs::from_all(SUPPORTED_ABI)
                & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev)
        }
    }
}

/// Private memory per process. Not the address space: Go, Node and Java reserve far more than they use.
const MAX_MEMORY_BYTES: u64 = 4 << 30;
const MAX_FILE_BYTES: u64 = 1 << 30;
const MAX_OPEN_FILES: u64 = 8192;
/// Processes and threads, in addition to those the user already has.
const MAX_PROCESSES: u64 = 512;

/// Sets the limits of a process that has not started any child yet.
pub(super) fn set_resource_limits(process: u32) -> io::Result<()> {
    let process = pid(process)?;
    for (resource, most) in [
        (Resource::Data, MAX_MEMORY_BYTES),
        (Resource::Fsize, MAX_FILE_BYTES),
        (Resource::Core, 0),
        (Resource::Nofile, MAX_OPEN_FILES),
        (Resource::Nproc, count_user_tasks() + MAX_PROCESSES),
    ] {
        let most = getrlimit(resource).maximum.map_or(most, |ours| ours.min(most));
        prlimit(Some(process), resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// The number of tasks of this user: the kernel counts threads against the process limit.
#[expect(clippy::disallowed_methods, reason = "accesses `/proc`, not a tree")]
fn count_user_tasks() -> u64 {
    let user = getuid().as_raw().to_string();
    let field = |status: &str, name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_user = processes.filter_map(|process| {
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        (field(&status, "Uid:")? == user).then(|| field(&status, "Threads:")?.parse::<u64>().ok()).flatten()
    });
    of_user.sum()
}

/// The init process of a PID namespace. The kernel kills all others in it when it exits.
pub(super) struct NamespaceInit(OwnedFd);

impl NamespaceInit {
    /// Finds the init process that `parent` started.
    #[expect(clippy::disallowed_methods, reason = "accesses `/proc`, not a tree")]
    pub(super) fn find(parent: u32) -> io::Result<Self> {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
        let child = children.split_whitespace().next().and_then(|child| child.parse().ok());
        Ok(Self(pidfd_open(pid(child.ok_or(io::ErrorKind::NotFound)?)?, PidfdFlags::empty())?))
    }

    pub(super) fn kill(&self) {
        let _ = pidfd_send_signal(&self.0, Signal::KILL); // fails if it has already exited
    }
}

/// Maps our user and group into a new user namespace. Done from the parent because a restricted process
/// cannot write to `/proc`. If we are root and the folder belongs to another user, that user is mapped, too.
#[expect(clippy::disallowed_methods, reason = "accesses `/proc`, not a tree")]
pub(super) fn map_identity(process: u32, folder: &Path) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let owner = fs::metadata(folder).ok().filter(|_| user == 0);
    let map = |own: u32, other: Option<u32>| match other.filter(|other| *other != own) {
        Some(other) => format!("{own} {own} 1\n{other} {other} 1\n"),
        None => format!("{own} {own} 1\n"),
    };
    let of = |name: &str| format!("/proc/{process}/{name}");
    fs::write(of("setgroups"), "deny")?;
    fs::write(of("uid_map"), map(user, owner.as_ref().map(MetadataExt::uid)))?;
    fs::write(of("gid_map"), map(group, owner.as_ref().map(MetadataExt::gid)))
}

fn pid(id: u32) -> io::Result<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
