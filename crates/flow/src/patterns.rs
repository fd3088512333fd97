//! Common patterns for asking questions.

use crate::{Flow, Halt, InvalidAnswer, choice};

/// Determines which of several candidates is meant: asks if there is more than one, returns the only one
/// without asking, and refuses if there is none. The candidates, as (value, label), must be the same on every
/// turn: read them through [`Flow::derive`] or [`Flow::step`].
///
/// An argument named `key` is checked against the candidates, even if there is only one.
///
/// ```
/// # use flow::{Answers, Conversation, Flow, Halt, Turn, patterns::clarify, simulate};
/// # use serde_json::json;
/// struct Open(Vec<&'static str>);
///
/// impl Conversation for Open {
///     type Args = Answers;
///     type Reply = String;
///
///     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
///         let found = f.derive("found", async || Ok(self.0.clone())).await?;
///         let labelled = found.iter().map(|path| (*path, format!("the file {path}")));
///         let path = clarify(f, "path", "Which file do you mean?", labelled).await?;
///         Ok(format!("opened {path}"))
///     }
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// let Turn::Halted(halt) = simulate(&Open(vec![]), json!({}), []).await else { panic!() };
/// assert_eq!(halt.to_string(), "no candidates for `path`");
///
/// let Turn::Done(done) = simulate(&Open(vec!["a"]), json!({}), []).await else { panic!() };
/// assert_eq!(done.reply.get(), r#""opened a""#);
///
/// let Turn::Done(done) = simulate(&Open(vec!["a", "b"]), json!({}), [json!({ "path": "b" })]).await else { panic!() };
/// assert_eq!(done.reply.get(), r#""opened b""#);
/// # }).unwrap();
/// ```
pub async fn clarify<V: Into<String>, L: Into<String>>(
    f: &mut Flow<'_>,
    key: &str,
    message: impl Into<String>,
    candidates: impl IntoIterator<Item = (V, L)>,
) -> Result<String, Halt> {
    let mut candidates: Vec<(String, String)> =
        candidates.into_iter().map(|(value, label)| (value.into(), label.into())).collect();
    match candidates.len() {
        0 => Err(Halt::refuse(format!("no candidates for `{key}`"))),
        1 if !f.has_argument(key) => Ok(candidates.swap_remove(0).0),
        _ => f.ask(key, choice(message, candidates)).await,
    }
}

/// Counts the steps of a longer conversation and reports them as progress, such as `Dates`, 2 of 3.
///
/// Going back and skipping need no code: a session does both when a response asks for it in
/// `metadata.action`.
///
/// ```
/// use flow::patterns::StepCounter;
/// use flow::session::{StartRequest, Limits, MemorySessionStore, SessionOwner, UserResponse, SessionEnv, Sessions, SessionRef};
/// use flow::{Answers, Conversation, DynConversation, Entropy, Env, Flow, Halt, Seal, SealKey, integer, text};
/// use serde_json::json;
///
/// struct Booking;
///
/// impl Conversation for Booking {
///     type Args = Answers;
///     type Reply = String;
///
///     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
///         let mut steps = StepCounter::new(["Where", "How long", "Wishes"]);
///         steps.next(f);
///         let city = f.ask("city", text("Where to?")).await?;
///         steps.next(f);
///         let days = f.ask("days", integer("For how many days?").default(7)).await?;
///         steps.next(f);
///         let wishes = f.ask("wishes", text("Anything else?").optional()).await?;
///         Ok(format!("{city} for {days} days, {}", wishes.as_deref().unwrap_or("no wishes")))
///     }
/// }
///
/// // What the host supplies: the caller and the tools. The clock, randomness and timers are hidden here.
/// struct Host;
///
/// impl SessionEnv for Host {
///     fn owner(&self) -> SessionOwner<'_> {
///         SessionOwner { tenant: "local", subject: "me" }
///     }
///
///     fn conversation(&self, tool: &str) -> Option<Box<dyn DynConversation>> {
///         (tool == "booking").then(|| Box::new(Booking) as _)
///     }
/// #   fn monotonic(&self) -> flow::session::ProcessInstant { flow::session::ProcessInstant { instance: 0, reading: std::time::Duration::ZERO } }
/// #   fn sleep(&self, _: std::time::Duration) -> flow::session::SleepFuture { Box::pin(std::future::pending()) }
/// }
/// # impl Env for Host {
/// #     fn now(&self) -> jiff::Timestamp { jiff::Timestamp::UNIX_EPOCH }
/// #     fn entropy(&self) -> &dyn Entropy { self }
/// # }
/// # impl Entropy for Host { fn fill(&self, bytes: &mut [u8]) { bytes.fill(0) } }
///
/// # futures_util::FutureExt::now_or_never(async {
/// # let seal = Seal::new(SealKey::from_bytes([0; 32]));
/// let sessions = Sessions::new(std::sync::Arc::new(MemorySessionStore::default()), seal.into(), Limits::default());
/// let begun = sessions.start(&Host, StartRequest { tool: "booking".to_owned(), ..StartRequest::default() }).await?;
/// let session = SessionRef::Id(&begun.id);
/// let say = |value: &str| UserResponse { value: json!(value), ..UserResponse::default() };
/// let act = |action: &str| UserResponse { metadata: json!({ "action": action }).as_object().cloned(), ..UserResponse::default() };
///
/// let next = sessions.respond(&Host, session, say("Rome")).await?.snapshot.session;
/// assert_eq!(next.progress().map(|p| (p.current, p.total, p.message.as_str())), Some((2, 3, "How long")));
///
/// let before = sessions.respond(&Host, session, act("back")).await?.snapshot.session;
/// assert_eq!(before.current_field().map(|field| field.name.as_str()), Some("city"));
/// assert_eq!(before.progress().map(|p| p.current), Some(1));
///
/// sessions.respond(&Host, session, say("Oslo")).await?;
/// sessions.respond(&Host, session, act("skip")).await?; // the default
/// let end = sessions.respond(&Host, session, act("skip")).await?.snapshot.session; // optional
/// assert_eq!(end.result(), Some(&json!("Oslo for 7 days, no wishes")));
/// # Ok::<_, flow::session::SessionError>(()) }).unwrap().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct StepCounter {
    titles: Vec<String>,
    completed: usize,
}

impl StepCounter {
    /// Creates a counter for the steps with these titles, in this order.
    pub fn new<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Self {
        Self { titles: titles.into_iter().map(Into::into).collect(), completed: 0 }
    }

    /// Starts the next step and reports it. Does nothing after the last step.
    pub fn next(&mut self, f: &mut Flow<'_>) {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        if let Some(title) = self.titles.get(self.completed) {
            self.completed += 1;
            f.report_progress(count(self.completed), count(self.titles.len()), title.as_str());
        }
    }
}

/// A check for [`Flow::ask_until`]: the answer must be one of these words. For a typo, the closest word is
/// suggested.
///
/// ```
/// # use flow::{Answers, Conversation, Flow, Halt, Turn, patterns::known_word, simulate, text};
/// # use serde_json::json;
/// # struct Fly;
/// # impl Conversation for Fly {
/// #     type Args = Answers;
/// #     type Reply = String;
/// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
/// const CITIES: [&str; 3] = ["Lisbon", "London", "Oslo"];
/// let city = f.ask_until("city", text("Where to?"), known_word(&CITIES)).await?;
/// #         Ok(city)
/// #     }
/// # }
/// # futures_util::FutureExt::now_or_never(async {
/// # let Turn::Ask(asked) = simulate(&Fly, json!({}), [json!({ "city": "lisbin" })]).await else { panic!() };
/// assert_eq!(asked.problems[0].1.to_string(), "`lisbin` is unknown. Did you mean Lisbon?");
/// # }).unwrap();
/// ```
pub fn known_word<'w>(known: &'w [&'w str]) -> impl Fn(&String) -> Result<(), InvalidAnswer> + 'w {
    |word| {
        if known.contains(&word.as_str()) {
            return Ok(());
        }
        let suggestion = match closest_match(word, known.iter().copied()) {
            Some(near) => format!("Did you mean {near}?"),
            None => {
                format!("Choose one of {}", known.iter().take(12).copied().collect::<Vec<_>>().join(", "))
            }
        };
        let word: String = word.chars().take(40).collect();
        Err(InvalidAnswer::new(format!("`{word}` is unknown"), suggestion))
    }
}

/// The word that was probably meant: at most a third of its characters differ. Ignores case.
///
/// ```
/// use flow::patterns::closest_match;
///
/// assert_eq!(closest_match("pyhton", ["python", "typescript"]), Some("python"));
/// assert_eq!(closest_match("ruby", ["python", "typescript"]), None);
/// ```
pub fn closest_match<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let word: Vec<char> = word.to_lowercase().chars().take(MAX_WORD_CHARS + 1).collect();
    let measured = known.into_iter().filter_map(|known| {
        let other: Vec<char> = known.to_lowercase().chars().collect();
        let longer = word.len().max(other.len());
        let distance = (longer <= MAX_WORD_CHARS).then(|| edit_distance(&word, &other))?;
        (3 * distance <= longer).then_some((distance, known))
    });
    measured.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// Longer words are not compared, which bounds the cost for arbitrary input.
const MAX_WORD_CHARS: usize = 64;

/// The Levenshtein distance: how many characters have to be inserted, deleted or replaced.
fn edit_distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (n, decoded) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], n + 1);
        for (m, wanted) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(decoded != wanted);
            diagonal = row[m + 1];
            row[m + 1] = replaced.min(row[m] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Answers, Conversation, Turn, simulate, text};

    #[test]
    fn closest_match_tolerates_typos() {
        let known = ["python", "typescript", "rust", "go"];
        for (word, expected) in [
            ("python", Some("python")),
            ("PYTHON", Some("python")),
            ("pythn", Some("python")),
            ("phyton", Some("python")),
            ("tyepscrpt", Some("typescript")),
            ("rst", Some("rust")),
            ("rustt", Some("rust")),
            ("g", None),
            ("gu", None),
            ("", None),
            ("cobol", None),
            (&"x".repeat(100_000), None),
        ] {
            assert_eq!(closest_match(word, known), expected, "{word:.20}");
        }
        assert_eq!(closest_match("überr", ["über"]), Some("über"));
        assert_eq!(closest_match("x", []), None);
    }

    struct ClarifyConversation(Vec<&'static str>);

    impl Conversation for ClarifyConversation {
        type Args = Answers;
        type Reply = Value;
        async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
            let mut steps = StepCounter::new(["one"]);
            steps.next(f);
            steps.next(f);
            let which = clarify(f, "which", "Which?", self.0.iter().map(|c| (*c, c.to_uppercase()))).await?;
            let word = f.ask_until("word", text("Word?"), known_word(&["yes", "no"])).await?;
            Ok(json!([which, word]))
        }
    }

    fn simulate_to_text(candidates: &[&'static str], arguments: Value, answers: &[Value]) -> String {
        let turn = simulate(&ClarifyConversation(candidates.to_vec()), arguments, answers.to_vec())
            .now_or_never()
            .unwrap();
        match turn {
            Turn::Ask(asked) => {
                let problem = asked.problems.first().map(|(_, invalid)| format!(" !{invalid}"));
                assert_eq!(asked.progress.map(|progress| (progress.current, progress.total)), Some((1, 1)));
                format!("ask {}{}", asked.question.fields[0].name, problem.unwrap_or_default())
            }
            Turn::Done(done) => done.reply.to_string(),
            Turn::Halted(halt) => halt.to_string(),
        }
    }

    #[test]
    fn clarify_asks_only_if_several_candidates_remain() {
        assert_eq!(simulate_to_text(&[], json!({}), &[]), "no candidates for `which`");
        assert_eq!(simulate_to_text(&["a"], json!({}), &[]), "ask word");
        assert_eq!(simulate_to_text(&["a"], json!({ "which": "a" }), &[]), "ask word");
        let refused = "`which`: That is not one of the options. Choose one of a";
        assert_eq!(
            simulate_to_text(&["a"], json!({ "which": "b" }), &[]),
            refused,
            "an explicit argument is not overruled"
        );
        assert_eq!(simulate_to_text(&["a", "b"], json!({}), &[]), "ask which");
        let wrong = "ask which !That is not one of the options. Choose one of a, b";
        assert_eq!(simulate_to_text(&["a", "b"], json!({}), &[json!({ "which": "c" })]), wrong);
        let answers = [json!({ "which": "b" }), json!({ "word": "mo" }), json!({ "word": "no" })];
        assert_eq!(simulate_to_text(&["a", "b"], json!({}), &answers[..1]), "ask word");
        let known = "ask word !`mo` is unknown. Choose one of yes, no";
        assert_eq!(simulate_to_text(&["a", "b"], json!({}), &answers[..2]), known);
        assert_eq!(simulate_to_text(&["a", "b"], json!({}), &answers), r#"["b","no"]"#);
        assert_eq!(simulate_to_text(&[], json!([]), &[]), "the arguments must be a JSON object");
    }
}
