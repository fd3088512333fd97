//! `interview`: asks one question of every kind, for testing a client. Off by default.

use std::time::Duration;

use flow::{
    Conversation, FileAnswer, Flow, Halt, choice, choices, confirm, custom, date, file, integer, number, text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;

/// Ask one question of every kind and return the answers. Can wait in between, to test progress and
/// cancellation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the questions of the same names; here for the schema")]
pub(crate) struct Args {
    name: Option<String>,
    colour: Option<String>,
    #[schemars(extend("type" = ["array", "string"]))]
    toppings: Option<Value>,
    temperature: Option<f64>,
    day: Option<String>,
    #[schemars(extend("type" = ["object", "string"]))]
    document: Option<Value>,
    #[schemars(extend("type" = ["object", "string"]))]
    size: Option<Value>,
    agree: Option<bool>,
    /// Milliseconds to wait after the first questions.
    #[schemars(range(min = 0, max = 600_000))]
    wait: Option<u32>,
}

/// The answers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    name: String,
    colour: String,
    toppings: Vec<String>,
    temperature: f64,
    day: String,
    document: String,
    #[schemars(extend("type" = "object"))]
    size: Value,
    agree: bool,
}

pub(crate) struct Interview;

impl InteractiveTool for Interview {
    const SPEC: ToolSpec = ToolSpec {
        name: "interview",
        title: "Interview",
        toolset: Toolset::Diagnostics,
        effect: Effect::ReadOnly,
    };
    type Conversation = Self;

    fn conversation(_: &ToolContext) -> Self {
        Self
    }
}

const COLOURS: [(&str, &str); 3] = [("red", "Red"), ("green", "Green"), ("blue", "Blue")];
const TOPPINGS: [(&str, &str); 3] = [("cheese", "Cheese"), ("olives", "Olives"), ("basil", "Basil")];
impl Conversation for Interview {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, _: Args) -> Result<Reply, Halt> {
        f.report_progress(1, 3, "About you");
        let name = f.ask("name", text("What is your name?").pattern("[A-Za-z ]+").length(1..=40)).await?;
        let (colour, toppings) = f
            .form(
                "What do you like?",
                (
                    ("colour", choice("Colour", COLOURS).default("green")),
                    ("toppings", choices("Toppings", TOPPINGS)),
                ),
            )
            .await?;
        let wait =
            f.ask("wait", integer("How many milliseconds to wait?").within(0..=600_000).default(0)).await?;
        f.step("wait", async |_| pause(wait).await).await?;

        f.report_progress(2, 3, "About things");
        let temperature = f.ask("temperature", number("How warm is it?").within(-90.0..=60.0)).await?;
        let day = f.ask("day", date("Which day is it?")).await?;
        let document = f.ask("document", file("Which file?").at_most(1024)).await?;
        let schema = json!({ "type": "object", "required": ["width"], "properties": { "width": { "type": "integer" } } });
        let size = f.ask("size", custom("How large? (an object with `width`)", schema)).await?;

        f.report_progress(3, 3, "Confirmation");
        let agree = f.ask("agree", confirm("Is that correct?").default(true)).await?;
        let document = match document {
            FileAnswer::Path(path) => path,
            FileAnswer::Content { name, .. } => name,
        };
        let day = day.to_string();
        f.set_summary(format!("{name} answered all questions."));
        Ok(Reply { name, colour, toppings, temperature, day, document, size, agree })
    }
}

async fn pause(milliseconds: i64) -> Result<i64, Halt> {
    if milliseconds > 0 {
        tokio::time::sleep(Duration::from_millis(milliseconds.unsigned_abs())).await;
    }
    Ok(milliseconds)
}
