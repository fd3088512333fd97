//! Websockets that answer one message with one: how a handler takes the text, and what it sends before.

use crate::patterns;

use super::fields::find_text_field;

/// How a handler talks over a websocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SocketTalk {
    /// The field of the JSON object that it takes; `None`: the message is the text itself.
    pub(super) field: Option<String>,
    /// What it sends before it takes a message.
    pub(super) greetings: usize,
}

impl SocketTalk {
    /// Reads it from the code of a handler of Starlette; why one text does not get one answer, if that is so.
    pub(super) fn from_source(source: &str) -> Result<Self, &'static str> {
        const UNCLEAR: &str =
            "talks over a websocket, and its handler does not show that one message gets one answer";
        let receive = patterns::compile(
            r"\b(?:(\w+)\s*(?::\s*[\w\[\], ]+)?=\s*)?(json\.loads\(\s*)?await\s+\w+\.(?:receive_(text|json)\(|iter_text)",
        );
        let send = patterns::compile(r"\.send_(?:text|json)\(");
        let (Ok(receive), Ok(send)) = (receive, send) else { return Err(UNCLEAR) };
        let lines: Vec<&str> = source.lines().collect();
        let Some((at, found)) =
            lines.iter().enumerate().find_map(|(at, line)| Some((at, receive.captures(line)?)))
        else {
            return Err(UNCLEAR);
        };
        let sends =
            |from: usize, to: usize| (from..to).filter(|at| send.is_match(lines[*at])).collect::<Vec<_>>();
        let answers: Vec<usize> =
            sends(at + 1, lines.len()).into_iter().filter(|line| !is_refusal(&lines, *line)).collect();
        match answers.as_slice() {
            [only] if !is_in_loop(&lines, at, *only) => {}
            [] => return Err(UNCLEAR),
            _ => return Err("talks over a websocket, and sends its answer in pieces"),
        }
        let name = found.get(1).map_or("", |name| name.as_str());
        let is_json = found.get(2).is_some() || found.get(3).is_some_and(|kind| kind.as_str() == "json");
        let parsed = patterns::compile(&format!(r"\b(\w+)\s*=\s*json\.loads\(\s*{}\b", regex::escape(name)));
        let object = parsed
            .ok()
            .and_then(|parsed| Some(parsed.captures(source)?.get(1)?.as_str().to_owned()))
            .or_else(|| is_json.then(|| name.to_owned()));
        let field = match object {
            None => None,
            Some(object) => Some(text_field(source, &object).ok_or(
                "talks over a websocket, and its handler does not show which field of a message carries the text",
            )?),
        };
        Ok(Self {
            field,
            greetings: sends(0, at).into_iter().filter(|line| !is_refusal(&lines, *line)).count(),
        })
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines that hold a line, from the inside: `for …:`, `except …:`.
fn headers<'l>(lines: &'l [&'l str], line: usize) -> impl Iterator<Item = (usize, &'l str)> {
    let mut depth = indent(lines[line]);
    (0..line).rev().filter_map(move |at| {
        let text = lines[at];
        let is_header = !text.trim().is_empty() && indent(text) < depth && text.trim_end().ends_with(':');
        is_header.then(|| {
            depth = indent(text);
            (at, text.trim())
        })
    })
}

/// Whether a line tells of an error: it is in an `except`, or nothing comes after it.
fn is_refusal(lines: &[&str], line: usize) -> bool {
    const NEAR: usize = 4;
    let after = lines[line + 1..]
        .iter()
        .take(NEAR)
        .take_while(|next| indent(next) >= indent(lines[line]) || next.trim().starts_with([')', '}']));
    let stops = after.into_iter().any(|next| matches!(next.trim(), "continue" | "return" | "break"));
    let in_error = headers(lines, line).any(|(_, header)| header.starts_with("except"));
    stops || in_error || lines[line].contains("error")
}

/// Whether a line is repeated for each message that is received: in a loop that begins after it.
fn is_in_loop(lines: &[&str], received: usize, line: usize) -> bool {
    headers(lines, line)
        .any(|(at, header)| at > received && (header.starts_with("for ") || header.starts_with("async for ")))
}

fn text_field(source: &str, object: &str) -> Option<String> {
    let read =
        patterns::compile(&format!(r#"\b{}(?:\.get\(|\[)\s*["'](\w+)["']"#, regex::escape(object))).ok()?;
    let mut names: Vec<String> = Vec::new();
    for found in read.captures_iter(source) {
        if !names.contains(&found[1].to_owned()) {
            names.push(found[1].to_owned());
        }
    }
    find_text_field(&names).or_else(|| if let [only] = names.as_slice() { Some(only.clone()) } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_gets_one_answer() {
        let check = |source: &str, expected: Option<(Option<&str>, usize)>| {
            let found = SocketTalk::from_source(source).ok();
            let found = found.as_ref().map(|talk| (talk.field.as_deref(), talk.greetings));
            assert_eq!(found, expected, "{source}");
        };
        let text =
            "async def f(ws):\n  await ws.accept()\n  while True:\n    data = await ws.receive_text()\n";
        check(&format!("{text}    await ws.send_text(await answer(data))"), Some((None, 0)));
        check(
            &format!(
                "{text}    body = json.loads(data)\n    await ws.send_json({{'a': reply(body['message'])}})"
            ),
            Some((Some("message"), 0)),
        );
        check(
            "  await ws.accept()\n  await ws.send_text('Hello')\n  data = await ws.receive_json()\n  \
             await ws.send_json(reply(data.get('question'), data.get('user_id')))",
            Some((Some("question"), 1)),
        );
        check(
            &format!(
                "{text}    try:\n      out = answer(data)\n    except ValueError as why:\n      await ws.send_text(str(why))\n      \
                 continue\n    await ws.send_text(out)"
            ),
            Some((None, 0)),
        );
        // In pieces; nothing; a field that the code does not show; not by this handler.
        check(&format!("{text}    async for piece in stream(data):\n      await ws.send_text(piece)"), None);
        check(&format!("{text}    await ws.send_text('…')\n    await ws.send_text(answer(data))"), None);
        check(text, None);
        check(&format!("{text}    body = json.loads(data)\n    await ws.send_json(reply(body))"), None);
        check("  await manager.connect(ws)", None);
    }
}
