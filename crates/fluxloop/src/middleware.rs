//! The documented integration for JavaScript programs: `app.use(fluxloop(…))`.

use crate::patterns;
use codebase::plan::{Anchor, AnchorKind, Edit, Payload, Strategy};
use codebase::{Framework, NameRedactor, summarize_file};
use tree::Tree;

/// The edit that registers the middleware right after the application is created.
pub(crate) fn middleware_edit(
    tree: &Tree,
    framework: &Framework,
    redactor: &NameRedactor,
) -> Result<Edit, String> {
    let title = framework.title;
    let anchor = framework
        .anchors
        .first()
        .ok_or_else(|| format!("found no place where the {title} application is created"))?;
    let text = tree
        .read(&anchor.path, 1 << 20)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_default();
    let line = text.lines().nth(anchor.line.saturating_sub(1) as usize).unwrap_or_default().trim();
    let named = patterns::compile(r"^(?:export\s+)?(?:const|let|var)\s+(\w+)")
        .ok()
        .and_then(|name| Some(name.captures(line)?[1].to_owned()));
    let name = named.ok_or_else(|| {
        let place = redactor.location(&anchor.path, anchor.line);
        format!("{place} creates the {title} application without assigning it to a variable")
    })?;
    let requires = summarize_file(tree, &anchor.path).is_some_and(|summary| {
        !summary.imports.is_empty() && !text.contains("import ") && text.contains("require(")
    });
    let import = if requires {
        "const { fluxloop } = require('@fluxloop/sdk');"
    } else {
        "import { fluxloop } from '@fluxloop/sdk';"
    };
    let found = text.match_indices(line).count();
    let before =
        text.lines().take(anchor.line.saturating_sub(1) as usize).map(|line| line.len() + 1).sum::<usize>();
    let index = text.match_indices(line).position(|(at, _)| at >= before).filter(|_| found > 1);
    Ok(Edit {
        filepath: anchor.path.clone(),
        strategy: Strategy::InsertMiddleware,
        anchors: vec![Anchor { kind: AnchorKind::AfterMatch, pattern: regex::escape(line), index }],
        payload: Payload {
            import: Some(import.to_owned()),
            code: Some(format!("{name}.use(fluxloop({{ projectKey: process.env.FLUXLOOP_PROJECT_KEY }}));")),
            location: None,
            set: Vec::new(),
        },
        rationale: format!(
            "Registers the documented middleware right after the {title} application is created."
        ),
        changes: Vec::new(),
    })
}
