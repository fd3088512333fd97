//! Starts a program, watches it, and leaves nothing of it behind.
//!
//! The program does not start at once. A shell says that it is there and waits for a line, so that limits are in force before the
//! first instruction of the program. With namespaces a second shell does the same inside them; it is their first process, and all
//! others end with it. The words of the command are arguments of those shells, never part of what they interpret.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tree::Budget;

use super::Ended;
use super::output::Output;
use super::places::Place;
use super::system::{self, Init};

/// How a program is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Isolation {
    /// The kernel has Landlock.
    pub(super) landlock: bool,
    /// What processes it sees.
    pub(super) namespaces: Namespaces,
}

/// What processes a program sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespaces {
    /// Those that it started itself, in a user namespace without rights over this system.
    Own,
    /// Those that it started itself. Only root gets this.
    OwnProcesses,
    /// All.
    Shared,
}

/// All that is needed to start a program.
pub(super) struct Order<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [String],
    pub(super) folder: &'a Path,
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) places: &'a [Place],
    pub(super) isolation: Isolation,
}

/// Where `unshare` is. It is not looked for elsewhere: the repository could bring one of its own.
pub(super) const UNSHARE: &str = "/usr/bin/unshare";

const SHELL: &str = "/bin/sh";
/// Closes what we may have inherited ourselves and would hand on, then says that it is there and waits.
macro_rules! wait_then {
    ($what:literal) => {
        concat!("exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-\necho; read -r _ || exit 125\n", $what)
    };
}
const WAIT_THEN_BECOME: &str = wait_then!(r#"exec "$@""#);
const WAIT_THEN_BECOME_WITHOUT_INPUT: &str = wait_then!(r#"exec "$@" </dev/null"#);
/// The first process of the namespaces. Should we be killed, it loses its input and ends the others, again and again: the
/// program may be about to start.
const WAIT_THEN_GUARD: &str = wait_then!(
    r#"[ "$$" -eq 1 ] || exit 125
exec 3<&0 </dev/null
{ read -r _ <&3; while :; do kill -KILL -1; sleep 1; done; } >/dev/null 2>&1 &
"$@" 3<&-
exit $?"#
);

/// A program that runs.
pub(super) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    init: Option<Init>,
    output: Output,
}

impl Running {
    /// Starts the program. Whatever was started is ended again if something fails.
    pub(super) fn start(order: &Order) -> io::Result<Self> {
        let mut command = command(order);
        // A thread that is restricted stays so: it is one of its own, and ends here.
        let spawned = thread::scope(|scope| {
            let start = || {
                system::restrict_thread(order.places, order.isolation.landlock)?;
                command.spawn()
            };
            let starter = thread::Builder::new().spawn_scoped(scope, start)?;
            starter.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed")))
        });
        let mut child = spawned?;
        let mut running = Self { input: child.stdin.take(), child, init: None, output: Output::default() };
        let released = running.release(order);
        if let Err(error) = released {
            running.end()?;
            return Err(error);
        }
        Ok(running)
    }

    /// Lets the program begin, step by step.
    fn release(&mut self, order: &Order) -> io::Result<()> {
        let (Some(mut said), Some(errors)) = (self.child.stdout.take(), self.child.stderr.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        self.output.gather(errors)?;
        let process = self.child.id();
        await_sign(&mut said)?;
        system::limit(process)?;
        if order.isolation.namespaces != Namespaces::Shared {
            self.go_on()?;
            await_sign(&mut said)?;
            self.init = Some(Init::find(process)?);
            if order.isolation.namespaces == Namespaces::Own {
                system::map_identity(process, order.folder)?;
            }
        }
        self.go_on()?;
        self.output.gather(said)?;
        Ok(())
    }

    fn go_on(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| input.write_all(b"\n"))
    }

    /// Closes our end of its input, as the kernel does when we are killed.
    #[cfg(test)]
    pub(super) fn let_go(&mut self) {
        self.input = None;
    }

    /// Waits until the program ends by itself or the budget is over.
    pub(super) fn finish(mut self, budget: &Budget) -> io::Result<Ended> {
        let waited = self.wait(budget);
        self.end()?;
        let status = waited?;
        Ok(Ended {
            code: status.and_then(|status| status.code().or_else(|| Some(128 + status.signal()?))),
            timed_out: status.is_none(),
            output: self.output.text(),
        })
    }

    fn wait(&mut self, budget: &Budget) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if budget.is_over() || budget.is_stopped() {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends all processes of the program.
    fn end(&mut self) -> io::Result<()> {
        if let Some(init) = &self.init {
            init.kill();
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL); // it is gone already, mostly
        }
        self.child.wait().map(drop)
    }
}

/// Waits for the line that a shell writes when it is there.
fn await_sign(from: &mut impl Read) -> io::Result<()> {
    let mut sign = [0];
    from.read_exact(&mut sign)
}

#[expect(clippy::disallowed_methods, reason = "this is where programs are started, confined")]
fn command(order: &Order) -> Command {
    let mut command = Command::new(SHELL);
    let unshare = |command: &mut Command, options: &[&str]| {
        command.args(["-c", WAIT_THEN_BECOME, SHELL, UNSHARE]).args(options);
        command.args(["--pid", "--ipc", "--fork", "--kill-child", "--", SHELL, "-c", WAIT_THEN_GUARD, SHELL]);
    };
    match order.isolation.namespaces {
        Namespaces::Own => unshare(&mut command, &["--user"]),
        Namespaces::OwnProcesses => unshare(&mut command, &[]),
        Namespaces::Shared => {
            command.args(["-c", WAIT_THEN_BECOME_WITHOUT_INPUT, SHELL]);
        }
    }
    command
        .arg(order.program)
        .args(order.arguments)
        .current_dir(order.folder)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}
