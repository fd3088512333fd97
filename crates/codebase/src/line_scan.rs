//! Line-based scan, outside comments, for languages without a parser.

use crate::language::Language;
use crate::manifest::{Ecosystem, blank_comments, numbered_lines};
use crate::rules::{LibraryRule, RULES};
use crate::source_cache::{AnalyzedFile, LibraryUse};

pub(crate) fn scan_lines(text: &str, language: Language) -> AnalyzedFile {
    let mut seen = AnalyzedFile::default();
    let Some(ecosystem) = language.ecosystem() else { return seen };
    let (line, block) = match language {
        Language::Ruby | Language::Elixir => ("#", None),
        _ => ("//", Some(("/*", "*/"))),
    };
    let text = blank_comments(text, line, block);
    let rules: Vec<(usize, &LibraryRule)> =
        RULES.iter().enumerate().filter(|(_, rule)| rule.ecosystem == ecosystem).collect();
    for (line, written) in numbered_lines(&text) {
        for (id, rule) in &rules {
            if rule.modules.iter().any(|module| is_import_line(ecosystem, written, module)) {
                let what = format!("imports {}", rule.title);
                seen.imports.push(LibraryUse {
                    rule: *id,
                    line,
                    text: what,
                    at_top_level: true,
                    in_method: false,
                });
            }
            if let Some(maker) = rule.constructors.iter().find(|maker| contains_call(written, maker)) {
                seen.constructions.push(LibraryUse {
                    rule: *id,
                    line,
                    text: (*maker).to_owned(),
                    at_top_level: true,
                    in_method: false,
                });
            }
        }
        if seen.main_line.is_none() && is_main_line(language, written) {
            seen.main_line = Some(line);
        }
    }
    if language == Language::Go && !text.lines().any(|line| line.trim() == "package main") {
        seen.main_line = None;
    }
    seen
}

fn is_import_line(ecosystem: Ecosystem, written: &str, module: &str) -> bool {
    let written = written.trim();
    let after = |start: &str| {
        let rest = written.strip_prefix(start)?.trim_start().trim_start_matches(['"', '\'', '(']);
        let rest = rest.strip_prefix(module)?;
        (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(())
    };
    let starts: &[&str] = match ecosystem {
        // `import "x"`, `"x"` in a block, and `alias "x"`.
        Ecosystem::Go => {
            let quoted = written.split('"').nth(1);
            return quoted.is_some_and(|path| path == module || path.starts_with(&format!("{module}/")));
        }
        Ecosystem::Rust => {
            return written.starts_with("use ") && after("use ").is_some()
                || written.contains(&format!("{module}::")) && !written.contains(&format!("_{module}::"));
        }
        Ecosystem::Jvm => &["import static", "import"],
        Ecosystem::Ruby => &["require"],
        Ecosystem::Php => &["use"],
        Ecosystem::Dotnet => &["global using", "using"],
        Ecosystem::Elixir => &["use", "import", "alias"],
        Ecosystem::Node | Ecosystem::Python => &[],
    };
    starts.iter().any(|start| after(start).is_some())
}

/// Whether the line calls this, or derives from it: `class App < Sinatra::Base`.
fn contains_call(written: &str, maker: &str) -> bool {
    written.match_indices(maker).any(|(at, _)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        !written[..at].ends_with(is_word)
            && !written[at + maker.len()..].starts_with(|c: char| c.is_alphanumeric())
    })
}

fn is_main_line(language: Language, written: &str) -> bool {
    match language {
        Language::Go => written.starts_with("func main()"),
        Language::Rust => written.contains("fn main()"),
        Language::Java => written.contains("static void main("),
        Language::Kotlin => written.trim_start().starts_with("fun main("),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: Language, text: &str, expected: &[&str]) {
        let seen = scan_lines(text, language);
        let name = |mention: &LibraryUse| RULES[mention.rule].name;
        let mut found: Vec<_> =
            seen.imports.iter().map(|m| format!("{} imports {}", m.line, name(m))).collect();
        found.extend(seen.constructions.iter().map(|m| format!("{} makes {}", m.line, m.text)));
        found.extend(seen.main_line.map(|line| format!("{line} main")));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn comments_are_ignored() {
        check(
            Language::Go,
            "package main\n// \"github.com/labstack/echo\"\nimport (\n\tg \"github.com/gin-gonic/gin\"\n)\nfunc main() { r := gin.Default() }",
            &["4 imports gin", "6 makes gin.Default", "6 main"],
        );
        check(Language::Go, "package x\nfunc main() {}", &[]);
        check(
            Language::Rust,
            "// actix_web::\nuse axum::Router;\nfn main() { Router::new(); }",
            &["2 imports axum", "3 makes Router::new", "3 main"],
        );
        check(
            Language::Java,
            "/* import io.quarkus.X; */\nimport org.springframework.boot.SpringApplication;\npublic static void main(String[] a) { SpringApplication.run(A.class); }",
            &["2 imports spring-boot", "3 makes SpringApplication.run", "3 main"],
        );
        check(
            Language::Ruby,
            "require 'sinatra/base'\n# require 'rails'\nclass A < Sinatra::Base",
            &["1 imports sinatra", "3 makes Sinatra::Base"],
        );
        check(Language::Php, "use Symfony\\Component\\X;\nuse Symfony\\Bundle\\Y;", &["2 imports symfony"]);
        check(
            Language::CSharp,
            "using Microsoft.AspNetCore.Builder;\nvar b = WebApplication.CreateBuilder(args);",
            &["1 imports aspnetcore", "2 makes WebApplication.CreateBuilder"],
        );
        check(
            Language::Elixir,
            "use Phoenix.Endpoint, otp_app: :x",
            &["1 imports phoenix", "1 makes use Phoenix.Endpoint"],
        );
    }
}
