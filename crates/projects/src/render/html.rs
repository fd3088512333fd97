//! A writer that can only produce well-formed HTML: every element is closed, every text and attribute value
//! escaped.

use crate::error::ProjectRejection;
use crate::limits::MAX_HTML_BYTES;

/// Element and attribute names are constants of the program, never content of a block.
#[derive(Default)]
pub(super) struct HtmlWriter {
    text: String,
    open_elements: Vec<&'static str>,
}

type Attributes<'a> = [(&'static str, &'a str)];

impl HtmlWriter {
    /// Whether the output exceeds its limit. Further writes are dropped.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() > MAX_HTML_BYTES
    }

    pub(super) fn open_count(&self) -> usize {
        self.open_elements.len()
    }

    /// Writes constant markup.
    pub(super) fn raw(&mut self, text: &'static str) {
        self.write(|out| out.push_str(text));
    }

    fn write(&mut self, write: impl FnOnce(&mut String)) {
        if !self.is_full() {
            write(&mut self.text);
        }
    }

    pub(super) fn open(&mut self, name: &'static str, attributes: &Attributes<'_>) {
        self.tag(name, attributes);
        self.open_elements.push(name);
    }

    /// Writes an element without content.
    pub(super) fn void_element(&mut self, name: &'static str, attributes: &Attributes<'_>) {
        self.tag(name, attributes);
    }

    pub(super) fn close(&mut self) {
        let closed = self.open_elements.pop();
        debug_assert!(closed.is_some(), "nothing is open");
        if let Some(name) = closed {
            self.write(|out| out.extend(["</", name, ">"]));
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.write(|out| escape(text, out));
    }

    pub(super) fn text_element(&mut self, name: &'static str, attributes: &Attributes<'_>, text: &str) {
        self.open(name, attributes);
        self.text(text);
        self.close();
    }

    /// Writes a style element. Its content is not HTML, but must not close the element, so `<` is escaped as
    /// in CSS.
    pub(super) fn style(&mut self, css: &str) {
        self.open("style", &[]);
        self.write(|out| out.push_str(&css.replace('<', "\\3c ")));
        self.close();
    }

    pub(super) fn finish(self) -> Result<String, ProjectRejection> {
        if self.is_full() {
            return Err(ProjectRejection::AnswerTooLarge {
                what: "bytes of HTML",
                limit: MAX_HTML_BYTES as u64,
            });
        }
        debug_assert!(self.open_elements.is_empty(), "{:?} are open", self.open_elements);
        Ok(self.text)
    }

    fn tag(&mut self, name: &'static str, attributes: &Attributes<'_>) {
        self.write(|out| {
            out.extend(["<", name]);
            for (name, value) in attributes {
                out.extend([" ", name, "=\""]);
                escape(value, out);
                out.push('"');
            }
            out.push('>');
        });
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in any HTML document.
            '\0' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}
