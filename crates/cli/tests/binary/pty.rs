//! A pseudo-terminal with the binary at one end and a test at the other.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::process::{TEST_TIMEOUT, fluxway};

/// The program in a terminal of 24 lines. Its questions are on the screen; its answer goes to a pipe.
pub(crate) struct PtyTerminal {
    child: PtyChild,
    keyboard: File,
    /// The program's end, kept open so that its state can be looked at.
    tty: OwnedFd,
    output_chunks: mpsc::Receiver<Vec<u8>>,
    answer: mpsc::Receiver<String>,
    screen: vt100::Parser,
    written: Vec<u8>,
    /// How the terminal was before the program came.
    pub(crate) initial_modes: Termios,
}

impl PtyTerminal {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(fluxway(args).env("TERM", "xterm-256color").env_remove("NO_COLOR"))
    }

    /// The same, with the answer on the screen as well.
    pub(crate) fn start_with_stdout(command: &mut Command) -> Self {
        Self::attach(command, true)
    }

    pub(crate) fn start_with(command: &mut Command) -> Self {
        Self::attach(command, false)
    }

    fn attach(command: &mut Command, shows_answer: bool) -> Self {
        let (keyboard, tty) = open_pty();
        let initial_modes = tcgetattr(&tty).unwrap();
        let end = || Stdio::from(tty.try_clone().unwrap());
        let out = if shows_answer { end() } else { Stdio::piped() };
        let mut child = command.stdin(end()).stderr(end()).stdout(out).spawn().unwrap();
        // The command would keep its end open.
        command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null());
        let output_chunks = spawn_chunk_reader(keyboard.try_clone().unwrap());
        let answer =
            child.stdout.take().map_or_else(|| spawn_text_reader(std::io::empty()), spawn_text_reader);
        let screen = vt100::Parser::new(NonZero::new(24).unwrap(), NonZero::new(80).unwrap(), 0);
        Self {
            child: PtyChild(child),
            keyboard,
            tty,
            output_chunks,
            answer,
            screen,
            written: Vec::new(),
            initial_modes,
        }
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        while !self.screen().contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(bytes) = self.output_chunks.recv_timeout(left) else {
                panic!("{text:?} is not on the screen:\n{}", self.screen());
            };
            self.screen.process(&bytes);
            self.written.extend_from_slice(&bytes);
        }
    }

    pub(crate) fn screen(&self) -> String {
        self.screen.screen().contents()
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the window narrower or wider.
    pub(crate) fn resize(&mut self, columns: u16) {
        self.screen.screen_mut().set_size(NonZero::new(24).unwrap(), NonZero::new(columns).unwrap());
        set_size(&self.tty, columns);
    }

    /// How the terminal treats what is typed and printed.
    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(&self.tty).unwrap()
    }

    /// Waits for the end of the program.
    #[track_caller]
    pub(crate) fn wait_for_exit(mut self) -> PtyExit {
        let answer = self.answer.recv_timeout(TEST_TIMEOUT).expect("an end in time");
        let code = self.child.code();
        let modes = self.modes();
        // Nobody writes any more once this end is closed too, so all of the rest can be read.
        drop(self.tty);
        loop {
            match self.output_chunks.recv_timeout(TEST_TIMEOUT) {
                Ok(bytes) => {
                    self.screen.process(&bytes);
                    self.written.extend_from_slice(&bytes);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("somebody else holds the terminal"),
            }
        }
        let written = String::from_utf8(self.written).unwrap();
        PtyExit { code, answer, modes, screen: self.screen.screen().contents(), written }
    }

    /// Takes the terminal away, as when its window is closed, and waits for the end of the program.
    #[track_caller]
    pub(crate) fn hang_up(mut self) -> (i32, String) {
        // Whoever reads the screen holds the terminal too, and goes when there is something that nobody wants.
        drop(self.output_chunks);
        self.keyboard.write_all(b"x").unwrap();
        drop(self.keyboard);
        let answer = self.answer.recv_timeout(TEST_TIMEOUT).expect("an end in time");
        (self.child.code(), answer)
    }
}

/// What is left when the program has ended.
pub(crate) struct PtyExit {
    pub(crate) code: i32,
    pub(crate) answer: String,
    pub(crate) modes: Termios,
    pub(crate) screen: String,
    pub(crate) written: String,
}

/// The program, which does not outlive its test.
struct PtyChild(Child);

impl PtyChild {
    fn code(&mut self) -> i32 {
        self.0.wait().unwrap().code().unwrap()
    }
}

impl Drop for PtyChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both ends: the keyboard with its screen, and the line that a program gets.
fn open_pty() -> (File, OwnedFd) {
    let mut flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    // Other tests start programs too, and none of them may hold this terminal open.
    #[cfg(target_os = "linux")]
    flags.insert(OpenptFlags::CLOEXEC);
    let keyboard = openpt(flags).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, Vec::new()).unwrap();
    let line =
        rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    set_size(&line, 80);
    (File::from(keyboard), line)
}

fn set_size(line: &OwnedFd, columns: u16) {
    tcsetwinsize(line, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// Runs a command to its end on a terminal that is wide, and long enough for everything: the screen as the user sees it.
pub(crate) fn capture_screen(command: &mut Command, columns: u16) -> vt100::Parser {
    const ROWS: u16 = 500;
    let (keyboard, tty) = open_pty();
    tcsetwinsize(&tty, Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let end = || Stdio::from(tty.try_clone().unwrap());
    let mut child = command.stdin(Stdio::null()).stderr(end()).stdout(end()).spawn().unwrap();
    command.stderr(Stdio::null()).stdout(Stdio::null());
    let chunks = spawn_chunk_reader(keyboard);
    child.wait().unwrap();
    drop(tty);
    let mut screen = vt100::Parser::new(NonZero::new(ROWS).unwrap(), NonZero::new(columns).unwrap(), 0);
    while let Ok(bytes) = chunks.recv_timeout(TEST_TIMEOUT) {
        screen.process(&bytes);
    }
    screen
}

fn spawn_chunk_reader(mut source: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = source.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn spawn_text_reader(mut source: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = source.read_to_string(&mut text);
        let _ = sender.send(text);
    });
    receiver
}
