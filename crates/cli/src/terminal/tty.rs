//! The terminal with its keys unlocked: each comes at once, and nothing is echoed.

use std::io::{self, IsTerminal, Write};

use rustix::io::Errno;
use rustix::termios::{
    OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

use super::dialog::{Console, Event};
use super::frame::SHOW_CURSOR;
use super::keys::{self, Key};
use super::view::Size;
use crate::paint;

/// Text from the clipboard then comes with marks around it.
const MARK_PASTE: &str = "\x1b[?2004h";
const MARK_PASTE_NO_MORE: &str = "\x1b[?2004l";

/// How long a read waits, in tenths of a second: then Escape was a key of its own, and the size is looked at again.
const PATIENCE: u8 = 1;
/// How many such waits a text from the clipboard may pause for.
const PAUSES_OF_A_PASTE: u32 = 10;
/// No text from the clipboard is longer.
const MOST_TYPED: usize = 1024 * 1024;

/// What a terminal has that does not say how large it is.
const USUAL: Size = Size { columns: 80, rows: 24 };

pub(super) struct Tty {
    before: Termios,
    typed: Vec<u8>,
    size: Size,
}

impl Tty {
    /// Takes over the terminal, if there is one that can do more than print lines. What was typed before is dropped:
    /// it is no answer to a question that was not there yet.
    pub(super) fn open() -> Option<Self> {
        if paint::is_dumb() || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        let before = tcgetattr(io::stdin()).ok()?;
        tcsetattr(io::stdin(), OptionalActions::Flush, &unlocked(&before)).ok()?;
        let mut tty = Self { before, typed: Vec::new(), size: size_now() };
        tty.write(MARK_PASTE).ok()?;
        Some(tty)
    }

    /// Reads what there is. Nothing is there if the wait was in vain.
    fn read(&mut self) -> io::Result<Got> {
        let mut bytes = [0; 4096];
        match rustix::io::read(io::stdin(), &mut bytes) {
            // A terminal that has gone also has nothing to read, and does not even wait with it.
            Ok(0) if tcgetattr(io::stdin()).is_err() => Ok(Got::TheEnd),
            Ok(0) | Err(Errno::INTR) => Ok(Got::Nothing),
            Ok(count) => {
                self.typed.extend_from_slice(&bytes[..count]);
                Ok(Got::Bytes)
            }
            Err(Errno::IO) => Ok(Got::TheEnd),
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, used: usize) {
        self.typed.drain(..used);
    }
}

enum Got {
    Bytes,
    Nothing,
    TheEnd,
}

impl Console for Tty {
    fn next(&mut self) -> io::Result<Event> {
        let mut pauses = 0;
        loop {
            if let Some((key, used)) = keys::decode(&self.typed) {
                self.take(used);
                return Ok(Event::Key(key));
            }
            match self.read()? {
                Got::TheEnd => return Ok(Event::Key(Key::Gone)),
                Got::Bytes => pauses = 0,
                Got::Nothing => pauses += 1,
            }
            let patience = if keys::is_paste(&self.typed) { PAUSES_OF_A_PASTE } else { 1 };
            if !self.typed.is_empty() && (pauses >= patience || self.typed.len() > MOST_TYPED) {
                let key = keys::settle(&self.typed);
                self.typed.clear();
                return Ok(Event::Key(key));
            }
            if self.size != size_now() {
                self.size = size_now();
                return Ok(Event::Resized);
            }
        }
    }

    fn size(&self) -> Size {
        self.size
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        io::stderr().write_all(text.as_bytes())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // Whoever holds the terminal next must be able to use it, also if half of this fails.
        let _ = self.write(&[SHOW_CURSOR, MARK_PASTE_NO_MORE].concat());
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn unlocked(before: &Termios) -> Termios {
    let mut modes = before.clone();
    modes.make_raw();
    // Log lines of others still need their carriage return.
    modes.output_modes |= before.output_modes & OutputModes::OPOST;
    modes.special_codes[SpecialCodeIndex::VMIN] = 0;
    modes.special_codes[SpecialCodeIndex::VTIME] = PATIENCE;
    modes
}

pub(super) fn size_now() -> Size {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Size { columns: usize::from(size.ws_col), rows: usize::from(size.ws_row) }
        }
        _ => USUAL,
    }
}
