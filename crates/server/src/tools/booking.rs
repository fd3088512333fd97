//! `booking`: the interactive example of the MCP Flow document. Nothing is really booked.

use std::collections::BTreeMap;

use flow::{Conversation, Flow, Halt, InvalidAnswer, choice, confirm, date, integer, text};
use jiff::civil;
use jiff::tz::TimeZone;
use protocol::mcp::{PromptArgument, PromptDescriptor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, InteractiveTool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::rpc::prompts::PromptEntry;

/// Book a trip (a demonstration: nothing is really booked). Asks for missing arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the questions of the same names; here for the schema")]
pub(crate) struct Args {
    /// Where to go.
    destination: Option<String>,
    /// First day, YYYY-MM-DD.
    departure: Option<String>,
    /// Last day, YYYY-MM-DD; omit for one way.
    r#return: Option<String>,
    /// How many people, 1 to 9.
    travellers: Option<i64>,
    /// Travel class.
    class: Option<TravelClass>,
    /// Whether the user agreed to the price.
    confirm: Option<bool>,
}

/// Travel class.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TravelClass {
    Economy,
    Business,
    First,
}

impl TravelClass {
    const OPTIONS: [(&str, &str); 3] =
        [("economy", "Economy"), ("business", "Business"), ("first", "First class")];

    fn parse(name: &str) -> Self {
        match name {
            "business" => Self::Business,
            "first" => Self::First,
            _ => Self::Economy,
        }
    }

    fn price_factor(self) -> u32 {
        match self {
            Self::Economy => 1,
            Self::Business => 3,
            Self::First => 5,
        }
    }
}

/// A booking.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    reference: String,
    destination: String,
    departure: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#return: Option<String>,
    travellers: i64,
    class: TravelClass,
    /// In euros.
    price: u32,
}

pub(crate) struct Booking;

impl InteractiveTool for Booking {
    const SPEC: ToolSpec = ToolSpec {
        name: "booking",
        title: "Book a trip",
        toolset: Toolset::Reference,
        effect: Effect::ReadOnly,
    };
    type Conversation = Self;

    fn conversation(_: &ToolContext) -> Self {
        Self
    }
}

impl Conversation for Booking {
    type Args = Args;
    type Reply = Reply;

    async fn run(&self, f: &mut Flow<'_>, _: Args) -> Result<Reply, Halt> {
        let today = f.now()?.to_zoned(TimeZone::UTC).date();

        f.report_progress(1, 5, "Destination");
        let place = text("Where would you like to go?").length(2..=80).placeholder("A city, such as Lisbon");
        let destination = f.ask("destination", place).await?;

        f.report_progress(2, 5, "Dates");
        let departure = date("First day").not_before(today);
        let back = date("Last day, empty for one way").not_before(today).optional();
        let days = (("departure", departure), ("return", back));
        let (departure, back) =
            f.form_until("When would you like to travel?", days, check_date_order).await?;

        f.report_progress(3, 5, "Travellers");
        let travellers =
            f.ask("travellers", integer("How many people are travelling?").within(1..=9)).await?;

        f.report_progress(4, 5, "Class");
        let class = f
            .ask("class", choice("Where would you like to sit?", TravelClass::OPTIONS).default("economy"))
            .await?;
        let class = TravelClass::parse(&class);

        f.report_progress(5, 5, "Confirmation");
        let price =
            f.derive("price", async || Ok(price(&destination, departure, back, travellers, class))).await?;
        let question =
            format!("{travellers} to {destination} on {departure} for {price} euros. Shall I book?");
        if !f.ask("confirm", confirm(question)).await? {
            return Err(Halt::refuse("the user declined the price; nothing was booked"));
        }
        let random = f.random()?;
        // A real booking would go here: `once` runs it a single time even if the answer is sent again.
        let reference = f.once("book", async || Ok(booking_reference(random))).await?;
        f.set_summary(format!(
            "Booked {destination} for {travellers}, {price} euros, reference {reference}."
        ));
        Ok(Reply {
            reference,
            destination,
            departure: departure.to_string(),
            r#return: back.map(|back| back.to_string()),
            travellers,
            class,
            price,
        })
    }
}

fn check_date_order(
    (first, last): &(civil::Date, Option<civil::Date>),
) -> Result<(), (String, InvalidAnswer)> {
    match last {
        Some(last) if last < first => {
            let invalid =
                InvalidAnswer::new("The last day is before the first", format!("Use {first} or later"));
            Err(("return".to_owned(), invalid))
        }
        _ => Ok(()),
    }
}

/// A plausible price, always the same for the same trip.
fn price(
    destination: &str,
    departure: civil::Date,
    back: Option<civil::Date>,
    travellers: i64,
    class: TravelClass,
) -> u32 {
    let distance =
        destination.to_lowercase().bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte))
            % 240;
    let weekend = matches!(departure.weekday(), jiff::civil::Weekday::Friday | jiff::civil::Weekday::Sunday);
    let one_way = 60 + distance + if weekend { 25 } else { 0 };
    let ways = if back.is_some() { 2 } else { 1 };
    one_way * ways * class.price_factor() * u32::try_from(travellers).unwrap_or(1)
}

/// Six characters without look-alikes (0 and O, 1 and I).
fn booking_reference(mut random: u64) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    (0..6)
        .map(|_| {
            let decoded = ALPHABET[usize::try_from(random % 32).unwrap_or(0)];
            random /= 32;
            char::from(decoded)
        })
        .collect()
}

pub(crate) const PROMPT: PromptEntry = PromptEntry {
    tool: "booking",
    prompt: PromptDescriptor {
        name: "plan_trip",
        title: Some("Plan a trip"),
        description: "Plan and book a trip, step by step.",
        arguments: &[
            PromptArgument { name: "destination", description: "Where to go.", required: true },
            PromptArgument { name: "class", description: "Travel class.", required: false },
        ],
    },
    text: prompt_text,
};

fn prompt_text(arguments: &BTreeMap<String, String>) -> String {
    let destination = arguments.get("destination").map_or("", String::as_str);
    let class = arguments.get("class").map(|class| format!(" in {class} class")).unwrap_or_default();
    format!(
        "I would like to travel to {destination}{class}. Call booking with what you know about my plans; if it needs \
         more, ask me. Tell me the price before you confirm."
    )
}
