//! The language of texts for people. Error codes and kinds are not translated.

/// A supported language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locale {
    #[default]
    English,
    /// German, the language of the CODEFLUSS document.
    German,
}

impl Locale {
    /// The supported language that an `Accept-Language` header prefers; `self` if it accepts none of them.
    #[must_use]
    pub fn negotiate(self, header: &str) -> Self {
        let wish = |part: &str| {
            let mut words = part.split(';').map(str::trim);
            let language = match words.next()?.split('-').next()?.to_ascii_lowercase().as_str() {
                "en" => Self::English,
                "de" => Self::German,
                _ => return None,
            };
            let weight = words.find_map(|word| word.strip_prefix("q="));
            let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f32>().ok())?;
            (weight > 0.0).then_some((weight, language))
        };
        // Of several languages with the highest weight, the first.
        let best = header
            .split(',')
            .take(32)
            .filter_map(wish)
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map_or(self, |(_, language)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::Locale::{self, English, German};

    #[test]
    fn accept_language_overrides_the_default_when_supported() {
        for (header, language) in [
            ("de", German),
            ("de-AT, en;q=0.9", German),
            ("en;q=0.3, de;q=0.7", German),
            ("en, de", English),
            ("fr, de;q=0.1", German),
            ("fr", English),
            ("", English),
            ("de;q=0", English),
            ("de;q=x", English),
            ("*", English),
        ] {
            assert_eq!(Locale::English.negotiate(header), language, "{header}");
        }
        assert_eq!(Locale::German.negotiate("fr"), German);
    }
}
