//! A conversation on a terminal, using only this crate: `cargo run -p fluxway-flow --example terminal`
//!
//! A front end is a loop around `advance`: show the question, read an answer, continue. An empty line skips
//! an optional question or accepts the default; `:back` returns to the previous question.

#![expect(clippy::print_stdout, reason = "the example talks to the user on stdout")]

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use flow::{
    AnswerShape, Answers, Conversation, Durability, DynConversation, Entropy, Env, Field, Flow, Halt,
    InvalidAnswer, Journal, PendingQuestion, Turn, TurnContext, choices, confirm, date, integer, text,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

struct TableBooking;

impl Conversation for TableBooking {
    type Args = Answers;
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
        let today = f.now()?.to_zoned(TimeZone::UTC).date();
        f.report_progress(1, 3, "You");
        let name = f.ask("name", text("What is your name?").length(2..=40).placeholder("Ada")).await?;
        f.report_progress(2, 3, "Your table");
        let when = date("On which day?").not_before(today).default(today.to_string());
        let many = integer("How many people?").within(1..=8);
        let (day, people) =
            f.form_until("Your table", (("day", when), ("people", many)), check_opening_day).await?;
        f.report_progress(3, 3, "Wishes");
        let wishes = choices("Any of these?", [("window", "At the window"), ("quiet", "Somewhere quiet")]);
        let wishes = f.ask("wishes", wishes.optional()).await?.unwrap_or_default();
        if !f.ask("sure", confirm(format!("{people} people on {day}. Shall I book?"))).await? {
            return Err(Halt::refuse("nothing was booked"));
        }
        let number = f.random()? % 1000;
        // A real tool would make the booking here, inside `f.once`.
        Ok(format!("{name}, your table is number {number}. Wishes: {}", wishes.join(", ")))
    }
}

fn check_opening_day((day, _): &(jiff::civil::Date, i64)) -> Result<(), (String, InvalidAnswer)> {
    if day.weekday() == jiff::civil::Weekday::Monday {
        return Err(("day".to_owned(), InvalidAnswer::new("We are closed on Mondays", "Choose another day")));
    }
    Ok(())
}

/// Uses the system clock and system randomness, and prints a line for each step of the conversation.
#[derive(Default)]
struct Terminal {
    step: AtomicU32,
}

impl Env for Terminal {
    #[expect(clippy::disallowed_methods, reason = "the example is the host and supplies the clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }

    fn progress(&self, progress: &flow::Progress) {
        // Repeating a question is not progress.
        if self.step.swap(progress.current, Ordering::Relaxed) != progress.current {
            println!("\n[{} of {}] {}", progress.current, progress.total, progress.message);
        }
    }
}

impl Entropy for Terminal {
    fn fill(&self, bytes: &mut [u8]) {
        // A terminal can tolerate missing randomness; a server could not.
        if getrandom::fill(bytes).is_err() {
            bytes.fill(0);
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let (arguments, context, mut journal, mut input) = (Map::new(), Map::new(), Journal::default(), None);
    let terminal = Terminal::default();
    loop {
        let turn = TurnContext {
            id: "terminal",
            arguments: &arguments,
            context: &context,
            env: &terminal,
            durability: Durability::InProcess,
            can_ask: true,
        };
        match TableBooking.advance(&mut journal, input.take(), &turn).await {
            Turn::Ask(asked) => match ask_fields(&asked)? {
                TerminalInput::Answers(answers) => input = Some(answers),
                TerminalInput::Back if journal.undo_last_answer() => {}
                TerminalInput::Back => println!("  There is no previous question."),
                TerminalInput::EndOfInput => return Ok(()),
            },
            Turn::Done(done) => {
                println!("\n{}", value_text(&serde_json::from_str(done.reply.get())?));
                return Ok(());
            }
            Turn::Halted(halt) => {
                println!("\nStopped: {halt}");
                return Ok(());
            }
        }
    }
}

/// The user's input for a question.
enum TerminalInput {
    Answers(Answers),
    Back,
    /// End of input.
    EndOfInput,
}

/// Asks all fields of a question, one after the other. The engine validates the answers.
fn ask_fields(question: &PendingQuestion) -> io::Result<TerminalInput> {
    let mut answers = Answers::new();
    for field in &question.question.fields {
        if let Some((_, invalid)) = question.problems.iter().find(|(name, _)| *name == field.name) {
            println!("  ! {invalid}");
        }
        print!("{}", prompt_text(field));
        io::stdout().flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(TerminalInput::EndOfInput);
        }
        match line.trim() {
            ":back" => return Ok(TerminalInput::Back),
            typed => answers.insert(field.name.clone(), json!(typed)),
        };
    }
    Ok(TerminalInput::Answers(answers))
}

/// A string without its quotes, anything else as JSON.
fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn prompt_text(field: &Field) -> String {
    let prompt = &field.prompt;
    let options = match &prompt.shape {
        AnswerShape::Choice { options, .. } => {
            let lines: Vec<_> =
                options.iter().map(|(value, label)| format!("  {value}: {label}\n")).collect();
            lines.concat()
        }
        AnswerShape::Confirm => "  yes or no\n".to_owned(),
        _ => String::new(),
    };
    let hint = match (&prompt.default, &prompt.placeholder, prompt.required) {
        (Some(default), _, _) => format!(" [{}]", value_text(default)),
        (None, Some(placeholder), _) => format!(" ({placeholder})"),
        (None, None, false) => " (optional)".to_owned(),
        (None, None, true) => String::new(),
    };
    format!("{}{hint}\n{options}> ", prompt.message)
}
