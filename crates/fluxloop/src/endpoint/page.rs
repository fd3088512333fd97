//! Handlers that answer with a page: the answer is what they hand to its template.

use crate::patterns;

use super::fields::{MESSAGE_LIST_FIELDS, find_reply_field};

/// The variable of the template that holds the answer, if the names show which.
pub(super) fn page_variable(source: &str, request: &[String]) -> Option<String> {
    let names = template_variables(source)?;
    let is_list = |name: &&String| MESSAGE_LIST_FIELDS.contains(&name.as_str()) || name.ends_with("messages");
    let is_other = |name: &String| matches!(name.as_str(), "form" | "title" | "error");
    let names: Vec<String> = names.into_iter().filter(|name| !is_other(name)).collect();
    let only = match names.as_slice() {
        [only] if !request.contains(only) => Some(only.clone()),
        _ => None,
    };
    find_reply_field(&names, request).or_else(|| names.iter().find(is_list).cloned()).or(only)
}

/// What a handler hands to its templates: `render_template("a.html", answer=answer)`, `render(request, "a.html", {"answer": …})`.
fn template_variables(source: &str) -> Option<Vec<String>> {
    let call = patterns::compile(r"\b(?:render_template|TemplateResponse|render_to_string|render)\(").ok()?;
    let keyword = patterns::compile(r"(?:^|[,(])\s*(\w+)\s*=[^=]").ok()?;
    let key = patterns::compile(r#"["'](\w+)["']\s*:"#).ok()?;
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        let is_option =
            matches!(name, "context" | "request" | "name" | "status_code" | "status" | "content_type");
        if !is_option && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    for found in call.find_iter(source) {
        let given = arguments(&source[found.end()..]);
        keyword.captures_iter(given).for_each(|name| add(&name[1]));
        key.captures_iter(given).for_each(|name| add(&name[1]));
        // `context = {"answer": answer}`, `context["answer"] = answer`
        let last = given.rsplit(',').next().unwrap_or_default().trim().trim_start_matches("context=").trim();
        if !last.is_empty() && last.chars().all(|c| c.is_alphanumeric() || c == '_') {
            let last = regex::escape(last);
            let made = patterns::compile(&format!(r"\b{last}\s*=\s*\{{([^}}]*)\}}")).ok()?;
            let set = patterns::compile(&format!(r#"\b{last}\[\s*["'](\w+)["']\s*\]\s*="#)).ok()?;
            let made: Vec<String> = made.captures_iter(source).map(|found| found[1].to_owned()).collect();
            made.iter().flat_map(|made| key.captures_iter(made)).for_each(|name| add(&name[1]));
            set.captures_iter(source).for_each(|name| add(&name[1]));
        }
    }
    Some(names)
}

/// The text up to the parenthesis that closes a call.
fn arguments(text: &str) -> &str {
    let mut depth = 1;
    let end = text.char_indices().find(|(_, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_page_is_a_variable_of_its_template() {
        let check = |source: &str, expected: Option<&str>| {
            assert_eq!(page_variable(source, &["prompt".to_owned()]).as_deref(), expected, "{source}");
        };
        check("return render_template(\"a.html\", prompt=prompt, answer=ask(prompt))", Some("answer"));
        check("return render(request, 'a.html', {'prompt': p, 'response': r})", Some("response"));
        check(
            "context = {'title': t}\ncontext['reply'] = r\nreturn render(request, 'a.html', context)",
            Some("reply"),
        );
        check(
            "return templates.TemplateResponse(\"a.html\", {\"request\": request, \"result\": r})",
            Some("result"),
        );
        check("return render_template(\"a.html\", messages=history)", Some("messages"));
        check("return render_template(\"a.html\", code=code)", Some("code"));
        check("return render_template(\"a.html\", form=form)", None);
        check("return render_template(\"a.html\")", None);
        check("return render_template(\"a.html\", width=3, height=4)", None);
    }
}
