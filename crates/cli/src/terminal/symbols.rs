//! The symbols that wizards draw with, and what stands for them where only ASCII can be shown.

#[derive(Debug)]
pub(super) struct Symbols {
    pub(super) active: &'static str,
    pub(super) done: &'static str,
    pub(super) invalid: &'static str,
    pub(super) cancelled: &'static str,
    pub(super) bar: &'static str,
    pub(super) end: &'static str,
    pub(super) radio: [&'static str; 2],
    pub(super) checkbox: [&'static str; 2],
    pub(super) pointer: &'static str,
    pub(super) arrows: &'static str,
}

pub(super) static UNICODE: Symbols = Symbols {
    active: "◆",
    done: "◇",
    invalid: "▲",
    cancelled: "■",
    bar: "│",
    end: "└",
    radio: ["○", "●"],
    checkbox: ["◻", "◼"],
    pointer: "❯",
    arrows: "↑↓",
};

pub(super) static ASCII: Symbols = Symbols {
    active: "*",
    done: "o",
    invalid: "!",
    cancelled: "x",
    bar: "|",
    end: "`",
    radio: ["( )", "(*)"],
    checkbox: ["[ ]", "[x]"],
    pointer: ">",
    arrows: "Up/Down",
};

impl Symbols {
    /// For a terminal called `term`, in a locale as `LC_ALL`, `LC_CTYPE` or `LANG` names it.
    pub(super) fn for_terminal(term: &str, locale: &str) -> &'static Self {
        // The console of Linux has few glyphs. Where no locale is set, as in most containers, terminals are UTF-8 all the same.
        let is_utf8 = locale.is_empty() || locale.to_lowercase().replace('-', "").contains("utf8");
        if term == "linux" || !is_utf8 { &ASCII } else { &UNICODE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_chosen_for_the_terminal() {
        for (term, locale, expected) in [
            ("xterm-256color", "en_US.UTF-8", "◆"),
            ("xterm-256color", "C.utf8", "◆"),
            ("xterm-256color", "", "◆"),
            ("xterm-256color", "POSIX", "*"),
            ("xterm", "de_DE.ISO-8859-1", "*"),
            ("linux", "en_US.UTF-8", "*"),
        ] {
            assert_eq!(Symbols::for_terminal(term, locale).active, expected, "{term} {locale}");
        }
    }
}
