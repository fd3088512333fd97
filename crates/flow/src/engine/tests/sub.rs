//! Conversations within conversations.

use super::*;
use crate::{Invalid, rehearse};

/// An address; asked for wherever one is needed.
struct Address {
    looked_up: AtomicU32,
}

impl Conversation for Address {
    type Args = String;
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, what: String) -> Result<String, Halt> {
        let known = |city: &String| match city.as_str() {
            "Nowhere" => Err(Invalid::new("There is no such place", "Somewhere")),
            _ => Ok(()),
        };
        let city = f.ask_until("city", text(format!("{what}: which city?")), known).await?;
        let code = f.step("code", async |_| Ok(self.looked_up.fetch_add(1, Ordering::Relaxed))).await?;
        let (street, number) =
            f.form(&what, (("street", text("Street")), ("number", integer("Number").optional()))).await?;
        Ok(format!("{street} {}, {code} {city}", number.unwrap_or(1)))
    }
}

/// Wraps an address, so that there are two levels.
struct Person(Address);

impl Conversation for Person {
    type Args = ();
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, (): ()) -> Result<String, Halt> {
        let name = f.ask("name", text("Name?")).await?;
        let home = f.sub("home", &self.0, "Home".to_owned()).await?;
        Ok(format!("{name} ({home})"))
    }
}

/// Wraps that, and in a loop.
struct Party(Person);

impl Conversation for Party {
    type Args = Answers;
    type Reply = Vec<String>;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Vec<String>, Halt> {
        let mut guests = vec![f.sub("host", &self.0, ()).await?];
        while f.ask("more", confirm("Another guest?")).await? {
            guests.push(f.sub("guest", &self.0, ()).await?);
        }
        f.ask("name", text("A name for the party?")).await.map(|name| guests.push(name))?;
        Ok(guests)
    }
}

fn party() -> Party {
    Party(Person(Address { looked_up: 10.into() }))
}

fn at(arguments: Value, answers: &[Value]) -> String {
    show(&rehearse(&party(), arguments, answers.to_vec()).now_or_never().unwrap())
}

#[test]
fn questions_are_called_by_where_they_are_asked() {
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
        assert_eq!(at(json!({}), &answers[..=n]), expected[n], "answer {n}");
    }
}

#[test]
fn arguments_are_called_the_same() {
    let host = json!({ "host.name": "Ada", "host.home.city": "Oslo", "host.home.street": "Main", "host.home.number": 3 });
    assert_eq!(at(host.clone(), &[]), "ask more");
    let mut all = host;
    all["more"] = json!(false);
    all["name"] = json!("Tea");
    assert_eq!(at(all.clone(), &[]), r#"done ["Ada (Main 3, 10 Oslo)","Tea"]"#);
    // Neither the bare name nor the name of another level answers.
    assert_eq!(at(json!({ "name": "Ada", "home.city": "Oslo", "city": "Oslo" }), &[]), "ask host.name");
    all["host.home.city"] = json!("Nowhere");
    assert_eq!(at(all, &[]), "halted `host.home.city`: There is no such place. Somewhere");
}

#[test]
fn going_back_goes_out_and_in_again() {
    let (party, arguments, mut journal) = (party(), Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    for answer in [
        json!({ "host.name": "Ada" }),
        json!({ "host.home.city": "Oslo" }),
        json!({ "host.home.street": "Main" }),
        json!({ "more": true }),
    ] {
        turn(&party, &mut journal, Some(answer), &context);
    }
    let mut back = || {
        assert!(journal.back());
        show(&turn(&party, &mut journal, None, &context))
    };
    let expected = [
        "ask more",
        "ask host.home.number",
        "ask host.home.street+host.home.number",
        "ask host.home.city",
        "ask host.name",
    ];
    assert_eq!(expected.map(|_| back()), expected);
    assert!(!journal.back());
}
