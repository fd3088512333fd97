//! What this machine offers to confine a program.

use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use tree::WorkBudget;

use super::process::{Isolation, Namespaces, UNSHARE_PATH};
use super::system;
use super::temp_home::TempHome;

/// What this machine offers to confine a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confinement {
    /// The version of Landlock, 0 if there is none.
    pub(super) landlock_version: i32,
    pub(super) isolation: Isolation,
}

/// Finds out, once, what this machine offers.
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

/// Whether a program starts this way.
#[expect(clippy::disallowed_methods, reason = "a program of the system lies in no tree")]
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
    /// Whether the files of this account are out of a program's reach.
    pub fn confines_files(&self) -> bool {
        self.landlock_version > 0
    }

    /// What is confined and what is not, for a question whether commands may run that are stopped after `limit`.
    pub fn describe(&self, limit: Duration) -> String {
        let time = format_duration(limit);
        let alone = self.isolation.namespaces != Namespaces::Shared;
        if !self.confines_files() {
            let left = if alone { "leaves no process behind" } else { "may leave processes behind" };
            return format!(
                "This system offers no sandbox (Landlock): a command runs with all rights of the account that Fluxway \
                 runs as, {left}, and is stopped after {time}."
            );
        }
        // What older kernels let through.
        let emptied = if self.landlock_version < 3 {
            " (this kernel does not keep it from emptying other files)"
        } else {
            ""
        };
        let processes = match (alone, self.landlock_version) {
            (true, _) => "sees no other process",
            (false, 6..) => "cannot reach other processes, but may leave processes behind",
            (false, _) => "cannot look into other processes, but can end them and may leave processes behind",
        };
        let open = if self.landlock_version < 9 {
            "The network and local sockets stay"
        } else {
            "The network stays"
        };
        format!(
            "A command runs in a sandbox: it can read only this repository and installed programs, write only in this \
             repository and a temporary home{emptied}, {processes}, and is stopped after {time}. {open} open to it."
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
