//! Conversations as data: every `*.jsonl` in `transcripts/` is a client's half, its snapshot both halves.

use std::fmt::Write;

use serde_json::Value;

use server::DocumentSettings;
use server::tools::Toolset;

use crate::documents::build_test_index;
use crate::harness::{TestClient, app};
use crate::repositories::{SUPPORT_BOT, unpack};

#[test]
fn transcripts() {
    insta::glob!("transcripts/*.jsonl", |path| {
        let script = std::fs::read_to_string(path).unwrap();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let transcript = runtime.block_on(play_transcript(&script));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(transcript);
        });
    });
}

/// Plays a client's half. `#` begins a comment; `$state` stands for the last `requestState` that came in,
/// `$session` and `$token` for the last interactive session and the last token of one, `$plan` for the last
/// edit plan, `$root` for the folder that the server may read, and `!pause N` lets N milliseconds pass. With
/// `!repository` on top there is a repository in that folder, and the tools for it; with `!documents` a small
/// library; with `!projects` the tools for projects, whose ids are called `$project1`, `$block1`, `$asset1`
/// and so on as they turn up; otherwise there are the tools that no other change touches.
async fn play_transcript(script: &str) -> String {
    let (_folder, root) = unpack(SUPPORT_BOT);
    let (_shelf, index) = build_test_index();
    let toolsets: &[Toolset] = match script.lines().next() {
        Some("!repository") => &[Toolset::Integrate],
        Some("!documents") => &[Toolset::Docs],
        Some("!projects") => &[Toolset::Projects],
        _ => &[Toolset::Reference, Toolset::Diagnostics],
    };
    let documents = DocumentSettings { shipped: false, indexes: vec![index] };
    let app = app().toolsets(toolsets).roots(vec![root.clone()]).documents(documents).page_size(2).build();
    let root = root.display().to_string();
    let mut client = TestClient::new(&app);
    let mut state = String::new();
    let (mut session, mut token) = (String::new(), String::new());
    let mut plan = Value::Null;
    let mut names = IdPlaceholders::default();
    let mut transcript = String::new();
    for line in script.lines() {
        if line.is_empty()
            || line.starts_with('#')
            || matches!(line, "!repository" | "!documents" | "!projects")
        {
            writeln!(transcript, "{line}").unwrap();
            continue;
        }
        writeln!(transcript, "> {line}").unwrap();
        let answers = if let Some(pause) = line.strip_prefix("!pause ") {
            tokio::time::sleep(std::time::Duration::from_millis(pause.parse().unwrap())).await;
            client.settle().await
        } else {
            let line = line.replace("$state", &state).replace("$plan", &plan.to_string());
            let line = line.replace("$session", &session).replace("$token", &token);
            client.exchange(&names.replace_placeholders(&line.replace("$root", &root))).await
        };
        for answer in answers {
            let message: Value = serde_json::from_str(&answer).unwrap();
            let results = [&message["result"], &message["result"]["structuredContent"]];
            if let Some(new) = results.into_iter().find(|result| result["rollback"].is_object()) {
                plan = new.clone();
            }
            if let Some(new) = message["result"]["requestState"].as_str() {
                new.clone_into(&mut state);
            }
            for (name, last) in [("sessionId", &mut session), ("token", &mut token)] {
                if let Some(new) = message["result"][name].as_str() {
                    new.clone_into(last);
                }
            }
            let mut shown = answer;
            for (name, value) in [("$state", &state), ("$token", &token), ("$session", &session)] {
                if !value.is_empty() {
                    shown = shown.replace(value.as_str(), name);
                }
            }
            writeln!(transcript, "< {}", names.replace_ids(&shown.replace(&root, "$root"))).unwrap();
        }
    }
    transcript
}

/// What the ids of projects and of what is in them are called in a transcript.
#[derive(Default)]
struct IdPlaceholders {
    known: Vec<(String, String)>,
}

impl IdPlaceholders {
    const KINDS: [(&str, &str); 3] = [("proj_", "$project"), ("blk_", "$block"), ("asset_", "$asset")];

    /// A text with ids instead of names. The last names first: `$block1` is a part of `$block12`.
    fn replace_placeholders(&self, text: &str) -> String {
        self.known.iter().rev().fold(text.to_owned(), |text, (id, name)| text.replace(name, id))
    }

    /// A text with names instead of ids. Those that are new get one.
    fn replace_ids(&mut self, text: &str) -> String {
        for (kind, name) in Self::KINDS {
            for (at, _) in text.match_indices(kind) {
                let id = &text[at..text.len().min(at + kind.len() + 16)];
                let is_id = id[kind.len()..].bytes().all(|byte| byte.is_ascii_alphanumeric());
                if is_id && id.len() == kind.len() + 16 && self.known.iter().all(|(known, _)| known != id) {
                    let number = 1 + self.known.iter().filter(|(_, known)| known.starts_with(name)).count();
                    self.known.push((id.to_owned(), format!("{name}{number}")));
                }
            }
        }
        self.known.iter().fold(text.to_owned(), |text, (id, name)| text.replace(id, name))
    }
}
