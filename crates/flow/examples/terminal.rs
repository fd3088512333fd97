//! A conversation on a terminal, with this crate alone: `cargo run -p fluxway-flow --example terminal`
//!
//! A front is a loop around `advance`: show what is asked, read an answer, go on. An empty line leaves a question open or
//! takes its default; `:back` goes back to the question before.

#![expect(clippy::print_stdout, reason = "this is a conversation on stdout")]

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use flow::{
    Answers, Asked, Conversation, Converse, Entropy, Env, Field, Flow, Halt, Invalid, Journal, Ledger, Shape,
    Turn, TurnContext, choices, confirm, date, integer, text,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

struct Table;

impl Conversation for Table {
    type Args = Answers;
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
        let today = f.now()?.to_zoned(TimeZone::UTC).date();
        f.progress(1, 3, "You");
        let name = f.ask("name", text("What is your name?").length(2..=40).placeholder("Ada")).await?;
        f.progress(2, 3, "Your table");
        let when = date("On which day?").not_before(today).default(today.to_string());
        let many = integer("How many people?").within(1..=8);
        let (day, people) = f.form_until("Your table", (("day", when), ("people", many)), is_open).await?;
        f.progress(3, 3, "Wishes");
        let wishes = choices("Any of these?", [("window", "At the window"), ("quiet", "Somewhere quiet")]);
        let wishes = f.ask("wishes", wishes.optional()).await?.unwrap_or_default();
        if !f.ask("sure", confirm(format!("{people} people on {day}. Shall I book?"))).await? {
            return Err(Halt::refuse("nothing was booked"));
        }
        let number = f.random()? % 1000;
        // Here somebody who means it would book, within `f.once`.
        Ok(format!("{name}, your table has number {number}. Wishes: {}", wishes.join(", ")))
    }
}

fn is_open((day, _): &(jiff::civil::Date, i64)) -> Result<(), (String, Invalid)> {
    if day.weekday() == jiff::civil::Weekday::Monday {
        return Err(("day".to_owned(), Invalid::new("We are closed on Mondays", "Take another day")));
    }
    Ok(())
}

/// The system's clock and randomness, and a line for each step of the conversation.
#[derive(Default)]
struct Terminal {
    step: AtomicU32,
}

impl Env for Terminal {
    #[expect(clippy::disallowed_methods, reason = "an example has nobody who would give it a clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }

    fn progress(&self, progress: &flow::Progress) {
        // A question that is asked again is no progress.
        if self.step.swap(progress.current, Ordering::Relaxed) != progress.current {
            println!("\n[{} of {}] {}", progress.current, progress.total, progress.message);
        }
    }
}

impl Entropy for Terminal {
    fn fill(&self, bytes: &mut [u8]) {
        // A terminal can do without randomness; a server could not.
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
            ledger: Ledger::InProcess,
            can_ask: true,
        };
        match Table.advance(&mut journal, input.take(), &turn).await {
            Turn::Ask(asked) => match ask(&asked)? {
                Said::Answers(answers) => input = Some(answers),
                Said::Back if journal.back() => {}
                Said::Back => println!("  There is no question before this one."),
                Said::Nothing => return Ok(()),
            },
            Turn::Done(done) => {
                println!("\n{}", plain(&serde_json::from_str(done.reply.get())?));
                return Ok(());
            }
            Turn::Halted(halt) => {
                println!("\nIt went no further: {halt}");
                return Ok(());
            }
        }
    }
}

/// What somebody said to a question.
enum Said {
    Answers(Answers),
    Back,
    /// They have gone.
    Nothing,
}

/// Asks all fields of a question, one after the other. Whether they are right is for the engine to say.
fn ask(asked: &Asked) -> io::Result<Said> {
    let mut answers = Answers::new();
    for field in &asked.question.fields {
        if let Some((_, invalid)) = asked.problems.iter().find(|(name, _)| *name == field.name) {
            println!("  ! {invalid}");
        }
        print!("{}", prompt(field));
        io::stdout().flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Said::Nothing);
        }
        match line.trim() {
            ":back" => return Ok(Said::Back),
            typed => answers.insert(field.name.clone(), json!(typed)),
        };
    }
    Ok(Said::Answers(answers))
}

/// A text without its quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn prompt(field: &Field) -> String {
    let prompt = &field.prompt;
    let options = match &prompt.shape {
        Shape::Choice { options, .. } => {
            let lines: Vec<_> =
                options.iter().map(|(value, label)| format!("  {value}: {label}\n")).collect();
            lines.concat()
        }
        Shape::Confirm => "  yes or no\n".to_owned(),
        _ => String::new(),
    };
    let hint = match (&prompt.default, &prompt.placeholder, prompt.required) {
        (Some(default), _, _) => format!(" [{}]", plain(default)),
        (None, Some(placeholder), _) => format!(" ({placeholder})"),
        (None, None, false) => " (may be left empty)".to_owned(),
        (None, None, true) => String::new(),
    };
    format!("{}{hint}\n{options}> ", prompt.message)
}
