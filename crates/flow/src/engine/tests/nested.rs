//! Tests for nested conversations.

use super::*;
use crate::{InvalidAnswer, simulate};

/// Asks for an address.
struct AddressConversation {
    looked_up: AtomicU32,
}

impl Conversation for AddressConversation {
    type Args = String;
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, what: String) -> Result<String, Halt> {
        let known = |city: &String| match city.as_str() {
            "Nowhere" => Err(InvalidAnswer::new("There is no such place", "Somewhere")),
            _ => Ok(()),
        };
        let city = f.ask_until("city", text(format!("{what}: which city?")), known).await?;
        let code = f.step("code", async |_| Ok(self.looked_up.fetch_add(1, Ordering::Relaxed))).await?;
        let (street, number) =
            f.form(&what, (("street", text("Street")), ("number", integer("Number").optional()))).await?;
        Ok(format!("{street} {}, {code} {city}", number.unwrap_or(1)))
    }
}

/// Nests an address, for a second level.
struct PersonConversation(AddressConversation);

impl Conversation for PersonConversation {
    type Args = ();
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, (): ()) -> Result<String, Halt> {
        let name = f.ask("name", text("Name?")).await?;
        let home = f.run_nested("home", &self.0, "Home".to_owned()).await?;
        Ok(format!("{name} ({home})"))
    }
}

/// Nests that in a loop, for a third level.
struct PartyConversation(PersonConversation);

impl Conversation for PartyConversation {
    type Args = Answers;
    type Reply = Vec<String>;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Vec<String>, Halt> {
        let mut guests = vec![f.run_nested("host", &self.0, ()).await?];
        while f.ask("more", confirm("Another guest?")).await? {
            guests.push(f.run_nested("guest", &self.0, ()).await?);
        }
        f.ask("name", text("A name for the party?")).await.map(|name| guests.push(name))?;
        Ok(guests)
    }
}

fn party_conversation() -> PartyConversation {
    PartyConversation(PersonConversation(AddressConversation { looked_up: 10.into() }))
}

fn simulate_to_text(arguments: Value, answers: &[Value]) -> String {
    turn_to_text(&simulate(&party_conversation(), arguments, answers.to_vec()).now_or_never().unwrap())
}

#[test]
fn nested_question_names_are_prefixed_by_their_path() {
    let person = |who: &str, name: &str| {
        [
            (json!({ format!("{who}.name"): name }), format!("ask {who}.home.city")),
            (
                json!({ format!("{who}.home.city"): "Nowhere" }),
                format!("ask {who}.home.city !{who}.home.city: There is no such place"),
            ),
            (
                json!({ format!("{who}.home.city"): "Oslo" }),
                format!("ask {who}.home.street+{who}.home.number"),
            ),
            (json!({ format!("{who}.home.street"): "Main" }), "ask more".to_owned()),
        ]
    };
    let more = |again: bool, next: &str| (json!({ "more": again }), next.to_owned());
    let mut script = Vec::new();
    script.extend(person("host", "Ada"));
    script.push(more(true, "ask guest.name"));
    script.extend(person("guest", "Bob"));
    script.push(more(true, "ask guest.name"));
    script.extend(person("guest", "Cy"));
    script.push(more(false, "ask name"));
    let done = r#"done ["Ada (Main 1, 10 Oslo)","Bob (Main 1, 11 Oslo)","Cy (Main 1, 12 Oslo)","Tea"]"#;
    script.push((json!({ "name": "Tea" }), done.to_owned()));
    let (answers, expected): (Vec<_>, Vec<_>) = script.into_iter().unzip();
    for n in 0..answers.len() {
        assert_eq!(simulate_to_text(json!({}), &answers[..=n]), expected[n], "answer {n}");
    }
}

#[test]
fn nested_arguments_use_the_prefixed_names() {
    let host = json!({ "host.name": "Ada", "host.home.city": "Oslo", "host.home.street": "Main", "host.home.number": 3 });
    assert_eq!(simulate_to_text(host.clone(), &[]), "ask more");
    let mut all = host;
    all["more"] = json!(false);
    all["name"] = json!("Tea");
    assert_eq!(simulate_to_text(all.clone(), &[]), r#"done ["Ada (Main 3, 10 Oslo)","Tea"]"#);
    // Neither the unprefixed name nor the name of another level answers a question.
    assert_eq!(
        simulate_to_text(json!({ "name": "Ada", "home.city": "Oslo", "city": "Oslo" }), &[]),
        "ask host.name"
    );
    all["host.home.city"] = json!("Nowhere");
    assert_eq!(simulate_to_text(all, &[]), "halted `host.home.city`: There is no such place. Somewhere");
}

#[test]
fn undo_crosses_nested_conversations() {
    let (party, arguments, mut journal) = (party_conversation(), Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    for answer in [
        json!({ "host.name": "Ada" }),
        json!({ "host.home.city": "Oslo" }),
        json!({ "host.home.street": "Main" }),
        json!({ "more": true }),
    ] {
        advance_turn(&party, &mut journal, Some(answer), &context);
    }
    let mut back = || {
        assert!(journal.undo_last_answer());
        turn_to_text(&advance_turn(&party, &mut journal, None, &context))
    };
    let expected = [
        "ask more",
        "ask host.home.number",
        "ask host.home.street+host.home.number",
        "ask host.home.city",
        "ask host.name",
    ];
    assert_eq!(expected.map(|_| back()), expected);
    assert!(!journal.undo_last_answer());
}
