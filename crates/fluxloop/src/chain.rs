//! Chains and executors of `LangChain` that a module makes: what they are given, and where their answer is.

use crate::patterns;

use serde_json::json;

use crate::graph::GraphCall;
use crate::wrapper::AgentObject;

impl AgentObject {
    /// The kind of chain that a call makes.
    pub(crate) fn from_chain_constructor(callee: &str) -> Option<Self> {
        let (object, method) = callee.rsplit_once('.').unwrap_or(("", callee));
        let class = object.rsplit('.').next().unwrap_or_default();
        match method.trim_end_matches("()") {
            "__or__"
            | "__ror__"
            | "RetrievalQA"
            | "ConversationalRetrievalChain"
            | "LLMChain"
            | "ConversationChain"
            | "create_retrieval_chain" => Some(Self::Chain),
            "from_chain_type" | "from_llm"
                if matches!(
                    class,
                    "RetrievalQA" | "ConversationalRetrievalChain" | "RetrievalQAWithSourcesChain"
                ) =>
            {
                Some(Self::Chain)
            }
            "AgentExecutor"
            | "initialize_agent"
            | "create_sql_agent"
            | "create_csv_agent"
            | "create_pandas_dataframe_agent" => Some(Self::Executor),
            "from_agent_and_tools" if class == "AgentExecutor" => Some(Self::Executor),
            _ => None,
        }
    }
}

/// How a chain or an executor is called with one text. `made`: the source that makes it and what it is made of; `callee`:
/// the call that makes it.
pub(crate) fn resolve_chain_call(made: &str, callee: &str, name: &str) -> Result<GraphCall, String> {
    let call = |input: &str, output: Option<&str>| {
        Ok(GraphCall { chain: Some((input.to_owned(), output.map(str::to_owned))), ..GraphCall::default() })
    };
    let keyed = |key: &str, output| call(&format!("{{{}: message}}", json!(key)), output);
    let human = human_variable(made);
    let class = callee.rsplit('.').find(|part| part.chars().next().is_some_and(char::is_uppercase));
    match class.unwrap_or(callee).trim_end_matches("()") {
        "RetrievalQA" | "RetrievalQAWithSourcesChain" => keyed("query", Some("result")),
        "ConversationalRetrievalChain" if made.contains("memory=") => keyed("question", Some("answer")),
        "ConversationalRetrievalChain" => {
            call("{\"question\": message, \"chat_history\": []}", Some("answer"))
        }
        "ConversationChain" => keyed("input", Some("response")),
        "create_retrieval_chain" => keyed("input", Some("answer")),
        "LLMChain" => match template_variables(made).as_slice() {
            [only] => keyed(only, Some("text")),
            _ => Err("the code does not show which variable of its prompt takes the text".to_owned()),
        },
        "AgentExecutor"
        | "initialize_agent"
        | "create_sql_agent"
        | "create_csv_agent"
        | "create_pandas_dataframe_agent" => {
            let key = human.unwrap_or_else(|| "input".to_owned());
            if made.contains("chat_history") && !made.contains("memory") {
                call(&format!("{{{}: message, \"chat_history\": []}}", json!(key)), Some("output"))
            } else {
                keyed(&key, Some("output"))
            }
        }
        _ => {
            let parts = pipe_parts(made, name).ok_or("the code does not show what it is made of")?;
            let first = parts.first().map_or("", String::as_str);
            // A mapping, a retriever or a function takes the text itself; a prompt takes its variables.
            let takes_text = first.starts_with('{')
                || ["Passthrough", "Parallel", "retriever", "Lambda", "llm", "model", "Chat"]
                    .iter()
                    .any(|word| first.contains(word))
                || assigned(made, first).is_some_and(|value| {
                    value.starts_with('{') || value.starts_with("Runnable") || value.contains("as_retriever")
                });
            if takes_text {
                return call("message", None);
            }
            match template_variables(made).as_slice() {
                [only] => keyed(only, None),
                _ => Err("the code does not show which variable of its prompt takes the text".to_owned()),
            }
        }
    }
}

/// The parts of `chain = setup | prompt | model`, if one of them is a model.
fn pipe_parts(text: &str, name: &str) -> Option<Vec<String>> {
    let written = assigned(text, name)?;
    let inner = written.trim().trim_start_matches('(').trim_end_matches(')');
    let (mut parts, mut depth, mut part) = (Vec::new(), 0i32, String::new());
    for c in inner.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if c == '|' && depth == 0 {
            parts.push(std::mem::take(&mut part).trim().to_owned());
        } else {
            part.push(c);
        }
    }
    parts.push(part.trim().to_owned());
    let is_model = |part: &String| {
        let lower = part.to_lowercase();
        ["llm", "model", "chat", "parser", "agent", "gpt"].iter().any(|word| lower.contains(word))
    };
    (parts.len() > 1 && parts.iter().any(is_model)).then_some(parts)
}

/// What is assigned to a name at the top level or in a function, up to the end of the statement.
fn assigned<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    const MAX_CHARS: usize = 2000;
    let begin =
        patterns::compile(&format!(r"(?m)^[ \t]*{}\s*(?::[^=\n]+)?=\s*", regex::escape(name))).ok()?;
    let rest = &text[begin.find(text)?.end()..];
    let mut depth = 0i32;
    let end = rest.char_indices().take(MAX_CHARS).find(|(at, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        *c == '\n' && depth <= 0 && !rest[..*at].trim_end().ends_with(['\\', '|'])
    });
    Some(end.map_or(rest, |(at, _)| &rest[..at]))
}

/// The variable that a prompt takes what a user says from: `("human", "{question}")`.
fn human_variable(text: &str) -> Option<String> {
    let written = patterns::compile(r#"["'](?:human|user)["']\s*,\s*f?["']+[^"'{]*\{(\w+)\}"#).ok()?;
    Some(written.captures(text)?[1].to_owned())
}

/// The variables of the only prompt that a file has.
fn template_variables(text: &str) -> Vec<String> {
    if let Some(human) = human_variable(text) {
        return vec![human];
    }
    let listed = patterns::compile(r"input_variables\s*=\s*\[([^\]]*)\]").ok();
    if let Some(found) = listed.and_then(|listed| Some(listed.captures(text)?[1].to_owned())) {
        let whole = patterns::compile(r#"^\s*["'](\w+)["']\s*$"#);
        let Ok(whole) = whole else { return Vec::new() };
        let items = found.split(',').filter(|item| !item.trim().is_empty());
        let names = items.map(|item| whole.captures(item).map(|name| name[1].to_owned()));
        return names.collect::<Option<Vec<_>>>().unwrap_or_default();
    }
    let Ok(written) = patterns::compile(r#"from_template\(\s*f?(?:"""([^"]*)"""|"([^"\n]*)"|'([^'\n]*)')"#)
    else {
        return Vec::new();
    };
    let Ok(variable) = patterns::compile(r"\{(\w+)\}") else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for found in written.captures_iter(text) {
        let body = (1..=3).find_map(|group| found.get(group)).map_or("", |body| body.as_str());
        for name in variable.captures_iter(body).map(|name| name[1].to_owned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_given_what_their_first_part_takes() {
        let check = |made: &str, callee: &str, expected: Option<(&str, Option<&str>)>| {
            let call = resolve_chain_call(made, callee, "chain").ok().and_then(|call| call.chain);
            let found = call.as_ref().map(|(input, output)| (input.as_str(), output.as_deref()));
            assert_eq!(found, expected, "{made}");
        };
        check(
            "chain = {\"context\": retriever, \"question\": RunnablePassthrough()} | prompt | llm",
            "__or__",
            Some(("message", None)),
        );
        check(
            "setup = RunnableParallel(context=find)\nchain = (\n    setup\n    | prompt\n    | model\n)\n",
            "setup.__or__",
            Some(("message", None)),
        );
        let prompt = "prompt = ChatPromptTemplate.from_messages([(\"system\", \"Be {tone}\"), (\"human\", \"{question}\")])\n";
        check(
            &format!("{prompt}chain = prompt | ChatOpenAI()"),
            "prompt.__or__",
            Some(("{\"question\": message}", None)),
        );
        check(
            "prompt = PromptTemplate.from_template(\"Tell {what} of {who}\")\nchain = prompt | llm",
            "prompt.__or__",
            None,
        );
        check("chain = int | str", "int.__or__", None);
        check(
            "chain = AgentExecutor(agent=a, tools=t)",
            "AgentExecutor",
            Some(("{\"input\": message}", Some("output"))),
        );
        check(
            "chain = RetrievalQA.from_chain_type(llm=llm, retriever=r)",
            "RetrievalQA.from_chain_type",
            Some(("{\"query\": message}", Some("result"))),
        );
        check(
            "chain = ConversationalRetrievalChain.from_llm(llm, r)",
            "ConversationalRetrievalChain.from_llm",
            Some(("{\"question\": message, \"chat_history\": []}", Some("answer"))),
        );
    }
}
