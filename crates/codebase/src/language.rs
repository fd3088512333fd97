//! Detects the language of a file by its name.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::manifest::Ecosystem;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Python,
    JavaScript,
    TypeScript,
    Go,
    Rust,
    Java,
    Kotlin,
    Scala,
    Groovy,
    Ruby,
    Php,
    CSharp,
    FSharp,
    Elixir,
    Erlang,
    C,
    Cpp,
    Swift,
    ObjectiveC,
    Dart,
    Lua,
    R,
    Julia,
    Haskell,
    Clojure,
    Zig,
    Perl,
    Shell,
    PowerShell,
    Sql,
    Vue,
    Svelte,
    Astro,
    Html,
    Css,
}

impl Language {
    /// The name in lower case.
    pub fn name(self) -> &'static str {
        LANGUAGES.iter().find(|(language, ..)| *language == self).map_or("", |(_, name, _)| name)
    }

    /// The display name.
    pub fn title(self) -> String {
        match self {
            Self::JavaScript => "JavaScript".to_owned(),
            Self::TypeScript => "TypeScript".to_owned(),
            Self::Php => "PHP".to_owned(),
            Self::CSharp => "C#".to_owned(),
            Self::FSharp => "F#".to_owned(),
            other => other.name()[..1].to_uppercase() + &other.name()[1..],
        }
    }

    pub fn ecosystem(self) -> Option<Ecosystem> {
        Some(match self {
            Self::Python => Ecosystem::Python,
            Self::JavaScript | Self::TypeScript | Self::Vue | Self::Svelte | Self::Astro => Ecosystem::Node,
            Self::Go => Ecosystem::Go,
            Self::Rust => Ecosystem::Rust,
            Self::Java | Self::Kotlin | Self::Scala | Self::Groovy => Ecosystem::Jvm,
            Self::Ruby => Ecosystem::Ruby,
            Self::Php => Ecosystem::Php,
            Self::CSharp | Self::FSharp => Ecosystem::Dotnet,
            Self::Elixir => Ecosystem::Elixir,
            _ => return None,
        })
    }

    /// Whether it counts as a language of the repository. Markup and styles only contribute lines.
    pub fn is_programming(self) -> bool {
        !matches!(self, Self::Html | Self::Css)
    }

    /// Whether [`crate::source::parse`] supports it.
    pub fn has_parser(self) -> bool {
        matches!(
            self,
            Self::Python | Self::JavaScript | Self::TypeScript | Self::Vue | Self::Svelte | Self::Astro
        )
    }
}

/// Each language with its name and file extensions. An extension belongs to one language only.
const LANGUAGES: &[(Language, &str, &[&str])] = &[
    (Language::Python, "python", &["py", "pyi", "pyw"]),
    (Language::JavaScript, "javascript", &["js", "jsx", "mjs", "cjs"]),
    (Language::TypeScript, "typescript", &["ts", "tsx", "mts", "cts"]),
    (Language::Go, "go", &["go"]),
    (Language::Rust, "rust", &["rs"]),
    (Language::Java, "java", &["java"]),
    (Language::Kotlin, "kotlin", &["kt", "kts"]),
    (Language::Scala, "scala", &["scala"]),
    (Language::Groovy, "groovy", &["groovy", "gradle"]),
    (Language::Ruby, "ruby", &["rb", "rake", "ru", "gemspec"]),
    (Language::Php, "php", &["php"]),
    (Language::CSharp, "csharp", &["cs"]),
    (Language::FSharp, "fsharp", &["fs", "fsx"]),
    (Language::Elixir, "elixir", &["ex", "exs", "heex", "eex"]),
    (Language::Erlang, "erlang", &["erl", "hrl"]),
    (Language::C, "c", &["c", "h"]),
    (Language::Cpp, "cpp", &["cc", "cpp", "cxx", "hpp", "hh", "hxx"]),
    (Language::Swift, "swift", &["swift"]),
    (Language::ObjectiveC, "objective-c", &["m", "mm"]),
    (Language::Dart, "dart", &["dart"]),
    (Language::Lua, "lua", &["lua"]),
    (Language::R, "r", &["r", "R"]),
    (Language::Julia, "julia", &["jl"]),
    (Language::Haskell, "haskell", &["hs"]),
    (Language::Clojure, "clojure", &["clj", "cljs", "cljc"]),
    (Language::Zig, "zig", &["zig"]),
    (Language::Perl, "perl", &["pl", "pm"]),
    (Language::Shell, "shell", &["sh", "bash", "zsh"]),
    (Language::PowerShell, "powershell", &["ps1"]),
    (Language::Sql, "sql", &["sql"]),
    (Language::Vue, "vue", &["vue"]),
    (Language::Svelte, "svelte", &["svelte"]),
    (Language::Astro, "astro", &["astro"]),
    (Language::Html, "html", &["html", "htm", "erb", "jinja", "j2", "cshtml", "razor", "twig"]),
    (Language::Css, "css", &["css", "scss", "sass", "less"]),
];

pub fn language_by_name(name: &str) -> Option<Language> {
    LANGUAGES.iter().find(|(_, known, _)| *known == name).map(|(language, ..)| *language)
}

pub fn detect_language(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    LANGUAGE_BY_EXTENSION.get(ending).copied()
}

/// A map because it is queried for every file of a tree.
static LANGUAGE_BY_EXTENSION: LazyLock<HashMap<&str, Language>> = LazyLock::new(|| {
    LANGUAGES
        .iter()
        .flat_map(|(language, _, endings)| endings.iter().map(|ending| (*ending, *language)))
        .collect()
});

#[rustfmt::skip] // a list, not a column
const GENERATED_SUFFIXES: &[&str] = &[
    ".min.js", ".min.css", ".bundle.js", ".pb.go", "_pb2.py", "_pb2_grpc.py", "_pb.js", "_pb.ts", ".pb.cc", ".pb.h",
    ".g.dart", ".freezed.dart", ".designer.cs", ".Designer.cs", ".g.cs", ".generated.ts", ".generated.js", ".gen.go",
    ".gen.ts",
];

/// Whether the file name indicates generated code.
pub fn is_generated_name(path: &str) -> bool {
    GENERATED_SUFFIXES.iter().any(|ending| path.ends_with(ending))
}

/// Whether the first lines declare the file as generated.
pub fn is_generated_text(text: &[u8]) -> bool {
    let head = &text[..text.len().min(600)];
    let says = |words: &[u8]| memchr::memmem::find(head, words).is_some();
    says(b"DO NOT EDIT") && (says(b"enerated") || says(b"GENERATED")) || says(b"@generated")
}

pub fn is_binary(text: &[u8]) -> bool {
    memchr::memchr(0, &text[..text.len().min(8192)]).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_extensions_are_unique() {
        let mut seen = std::collections::BTreeSet::new();
        assert!(
            LANGUAGES.iter().flat_map(|(_, _, endings)| endings.iter()).all(|ending| seen.insert(*ending))
        );
    }

    #[test]
    fn language_is_detected_from_file_name() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(detect_language(path).map(Language::name), expected, "{path}");
        };
        check("a/b.py", Some("python"));
        check("b.test.tsx", Some("typescript"));
        check("x.rs", Some("rust"));
        check(".py", None);
        check("Makefile", None);
        check("a.json", None);
        assert!(
            is_generated_name("a/x.min.js")
                && is_generated_name("x_pb2.py")
                && !is_generated_name("admin.js")
        );
        assert!(is_generated_text(b"// Code generated by x. DO NOT EDIT.") && !is_generated_text(b"# plain"));
        assert!(is_binary(b"ab\0c") && !is_binary(b"abc"));
    }
}
