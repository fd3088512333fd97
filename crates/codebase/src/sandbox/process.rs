//! Starts a program, supervises it, and cleans up all its processes.
//!
//! The program is not started directly. A shell reports that it is ready and waits for a line, so that limits
//! are in force before the first instruction of the program. With namespaces, a second shell does the same
//! inside them; it is their init process, and all others die with it. The command is passed as arguments to
//! these shells and never interpreted by them.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tree::WorkBudget;

use super::RunOutcome;
use super::file_access::FileAccess;
use super::output::OutputTail;
use super::system::{self, NamespaceInit};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Isolation {
    /// Whether the kernel supports Landlock.
    pub(super) landlock: bool,
    pub(super) namespaces: Namespaces,
}

/// Which processes a program can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespaces {
    /// Only its own, in a user namespace without privileges on this system.
    UserAndPid,
    /// Only its own. Requires root.
    PidOnly,
    Shared,
}

pub(super) struct LaunchSpec<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [String],
    pub(super) folder: &'a Path,
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) file_access: &'a [FileAccess],
    pub(super) isolation: Isolation,
}

/// Not searched on the `PATH`: the repository could contain its own `unshare`.
pub(super) const UNSHARE_PATH: &str = "/usr/bin/unshare";

const SHELL_PATH: &str = "/bin/sh";
/// Closes file descriptors that we may have inherited, reports readiness, and waits for a line.
macro_rules! wait_then {
    ($what:literal) => {
        concat!("exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-\necho; read -r _ || exit 125\n", $what)
    };
}
const WAIT_THEN_EXEC: &str = wait_then!(r#"exec "$@""#);
const WAIT_THEN_EXEC_WITHOUT_INPUT: &str = wait_then!(r#"exec "$@" </dev/null"#);
/// The init process of the namespaces. If we are killed, its input is closed and it kills all other
/// processes. It repeats this because the program may be just about to start.
const WAIT_THEN_RUN_AS_INIT: &str = wait_then!(
    r#"[ "$$" -eq 1 ] || exit 125
exec 3<&0 </dev/null
{ read -r _ <&3; while :; do kill -KILL -1; sleep 1; done; } >/dev/null 2>&1 &
"$@" 3<&-
exit $?"#
);

pub(super) struct RunningProgram {
    child: Child,
    input: Option<ChildStdin>,
    init: Option<NamespaceInit>,
    output: OutputTail,
}

impl RunningProgram {
    /// Starts the program. If a step fails, everything started so far is killed.
    pub(super) fn start(spec: &LaunchSpec) -> io::Result<Self> {
        let mut command = build_command(spec);
        // The restriction of a thread is permanent, so use a separate one that exits here.
        let spawned = thread::scope(|scope| {
            let start = || {
                system::restrict_thread(spec.file_access, spec.isolation.landlock)?;
                command.spawn()
            };
            let starter = thread::Builder::new().spawn_scoped(scope, start)?;
            starter.join().unwrap_or_else(|_| Err(io::Error::other("the launcher thread panicked")))
        });
        let mut child = spawned?;
        let mut running =
            Self { input: child.stdin.take(), child, init: None, output: OutputTail::default() };
        let released = running.release_program(spec);
        if let Err(error) = released {
            running.kill_all()?;
            return Err(error);
        }
        Ok(running)
    }

    /// Releases the waiting shells one by one, setting limits and namespaces in between.
    fn release_program(&mut self, spec: &LaunchSpec) -> io::Result<()> {
        let (Some(mut said), Some(errors)) = (self.child.stdout.take(), self.child.stderr.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        self.output.read_stream(errors)?;
        let process = self.child.id();
        await_ready_line(&mut said)?;
        system::set_resource_limits(process)?;
        if spec.isolation.namespaces != Namespaces::Shared {
            self.send_continue()?;
            await_ready_line(&mut said)?;
            self.init = Some(NamespaceInit::find(process)?);
            if spec.isolation.namespaces == Namespaces::UserAndPid {
                system::map_identity(process, spec.folder)?;
            }
        }
        self.send_continue()?;
        self.output.read_stream(said)?;
        Ok(())
    }

    fn send_continue(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| input.write_all(b"\n"))
    }

    /// Closes our end of its input, as the kernel does if we are killed.
    #[cfg(test)]
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until the program exits or the budget is used up.
    pub(super) fn finish(mut self, budget: &WorkBudget) -> io::Result<RunOutcome> {
        let waited = self.wait(budget);
        self.kill_all()?;
        let status = waited?;
        Ok(RunOutcome {
            code: status.and_then(|status| status.code().or_else(|| Some(128 + status.signal()?))),
            timed_out: status.is_none(),
            output: self.output.into_text(),
        })
    }

    fn wait(&mut self, budget: &WorkBudget) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if budget.is_expired() || budget.is_cancelled() {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn kill_all(&mut self) -> io::Result<()> {
        if let Some(init) = &self.init {
            init.kill();
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL); // fails if it has already exited
        }
        self.child.wait().map(drop)
    }
}

/// Waits for the line that a shell writes when it is ready.
fn await_ready_line(from: &mut impl Read) -> io::Result<()> {
    let mut sign = [0];
    from.read_exact(&mut sign)
}

#[expect(clippy::disallowed_methods, reason = "the only place that starts programs, confined")]
fn build_command(spec: &LaunchSpec) -> Command {
    let mut command = Command::new(SHELL_PATH);
    let unshare = |command: &mut Command, options: &[&str]| {
        command.args(["-c", WAIT_THEN_EXEC, SHELL_PATH, UNSHARE_PATH]).args(options);
        command.args([
            "--pid",
            "--ipc",
            "--fork",
            "--kill-child",
            "--",
            SHELL_PATH,
            "-c",
            WAIT_THEN_RUN_AS_INIT,
            SHELL_PATH,
        ]);
    };
    match spec.isolation.namespaces {
        Namespaces::UserAndPid => unshare(&mut command, &["--user"]),
        Namespaces::PidOnly => unshare(&mut command, &[]),
        Namespaces::Shared => {
            command.args(["-c", WAIT_THEN_EXEC_WITHOUT_INPUT, SHELL_PATH]);
        }
    }
    command
        .arg(spec.program)
        .args(spec.arguments)
        .current_dir(spec.folder)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}
