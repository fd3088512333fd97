//! Detects and describes which confinement this machine supports.

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use tree::WorkBudget;

use super::process::{Isolation, Namespaces, UNSHARE_PATH};
use super::system;
use super::temp_home::TempHome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confinement {
    /// Landlock ABI version; 0 if unavailable.
    pub(super) landlock_version: i32,
    pub(super) isolation: Isolation,
}

/// Detects the supported confinement once per process.
pub fn detect_confinement() -> Confinement {
    static DETECTED: OnceLock<Confinement> = OnceLock::new();
    *DETECTED.get_or_init(|| {
        let landlock = system::landlock_version();
        let isolation = |namespaces| Isolation { landlock: landlock > 0, namespaces };
        let works = |it: &Isolation| probe(*it).unwrap_or(false);
        let offered = [Namespaces::UserAndPid, Namespaces::PidOnly].map(isolation).into_iter().find(works);
        Confinement {
            landlock_version: landlock,
            isolation: offered.unwrap_or(isolation(Namespaces::Shared)),
        }
    })
}

/// Whether a program can be started with this isolation.
#[expect(clippy::disallowed_methods, reason = "system programs are not part of a tree")]
fn probe(isolation: Isolation) -> io::Result<bool> {
    if !Path::new(UNSHARE_PATH).exists() {
        return Ok(false);
    }
    let folder = TempHome::create(None)?;
    let words = ["/bin/sh", "-c", "exit 7"].map(str::to_owned);
    let budget = WorkBudget::unlimited().with_timeout(Duration::from_secs(5));
    Ok(super::run_isolated(folder.path(), &words, &budget, isolation)?.code == Some(7))
}

impl Confinement {
    /// Whether a program is kept from accessing the files of this account.
    pub fn confines_files(&self) -> bool {
        self.landlock_version > 0
    }

    /// Describes the confinement, for the prompt that asks whether to run commands with the time limit
    /// `limit`.
    pub fn describe(&self, limit: Duration) -> String {
        let time = format_duration(limit);
        let alone = self.isolation.namespaces != Namespaces::Shared;
        if !self.confines_files() {
            let left = if alone { "leaves no process behind" } else { "may leave processes behind" };
            return format!(
                "This system has no sandbox (Landlock): a command runs with all permissions of the account that Fluxway \
                 runs as, {left}, and is stopped after {time}."
            );
        }
        // Landlock before ABI 3 does not restrict truncation.
        let emptied = if self.landlock_version < 3 {
            " (this kernel cannot prevent it from truncating other files)"
        } else {
            ""
        };
        let processes = match (alone, self.landlock_version) {
            (true, _) => "cannot see other processes",
            (false, 6..) => "cannot reach other processes, but may leave processes behind",
            (false, _) => {
                "cannot inspect other processes, but can terminate them and may leave processes behind"
            }
        };
        let open = if self.landlock_version < 9 {
            "The network and local sockets remain"
        } else {
            "The network remains"
        };
        format!(
            "A command runs in a sandbox: it can read only this repository and installed programs, write only in this \
             repository and a temporary home{emptied}, {processes}, and is stopped after {time}. {open} accessible."
        )
    }
}

fn format_duration(limit: Duration) -> String {
    let (count, unit) = match limit.as_secs() {
        seconds if seconds >= 60 && seconds % 60 == 0 => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
