//! Random walks through a session, by two processes that may die at any moment, against a small model of what must be.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{Limits, Memory, Owner, Response, Standing, State, Which};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::desk::{Replica, Running, Time, action, answer, code, everything, history, line, now, only};
use crate::faults::{Faulty, Way};
use crate::talks::{Deeds, Trip};

fn limits() -> Limits {
    Limits { attempts: 3, rate: (6, Duration::from_secs(10)), ..Limits::default() }
}

/// The questions of a trip, in order. The second and third are one form; after the fourth a step is taken; after the
/// fifth something is done that cannot be taken back.
const NAMES: [&str; 6] = ["city", "from", "to", "class", "sure", "note"];

#[derive(Clone, Debug, PartialEq)]
enum Stand {
    Waiting,
    Completed,
    Cancelled,
    Error(&'static str),
}

/// What must be, in as few words as possible, and without looking at how it is done.
#[derive(Clone, Debug)]
struct Model {
    stand: Stand,
    told: Vec<(String, Value)>,
    at: usize,
    /// The first field of the form is answered and the form is not.
    in_form: bool,
    attempts: u32,
    refusals: u32,
    prompts: u32,
    created: Timestamp,
    active: Timestamp,
    window: (Timestamp, u32),
    is_forgotten: bool,
}

impl Model {
    fn new(now: Timestamp) -> Self {
        Model {
            stand: Stand::Waiting,
            told: Vec::new(),
            at: 0,
            in_form: false,
            attempts: 0,
            refusals: 0,
            prompts: 1,
            created: now,
            active: now,
            window: (now, 0),
            is_forgotten: false,
        }
    }

    fn ends(&self) -> Timestamp {
        let limits = limits();
        match self.stand {
            Stand::Waiting => (self.active + limits.idle).min(self.created + limits.longest),
            _ => self.active + limits.grace,
        }
    }

    /// Why nothing can be done with it, if so.
    fn gone(&self, now: Timestamp) -> Option<&'static str> {
        if self.is_forgotten {
            return Some("-32001");
        }
        (now >= self.ends()).then_some("-32002")
    }

    fn close(&mut self, stand: Stand, now: Timestamp) {
        (self.stand, self.active) = (stand, now);
    }

    /// How it looks from outside, complaints about answers left out.
    fn line(&self) -> String {
        match &self.stand {
            Stand::Waiting => format!("ask {}", NAMES[self.at]),
            Stand::Completed => {
                let of = |n: usize| &self.told[n].1;
                format!("done {}", json!([of(0), of(1), of(2), of(3), 1, of(4), 7, of(5)]))
            }
            Stand::Cancelled => "cancelled".to_owned(),
            Stand::Error(kind) => format!("error {kind}"),
        }
    }

    fn respond(&mut self, say: &Say, now: Timestamp) -> String {
        if let Some(gone) = self.gone(now) {
            return gone.to_owned();
        }
        match self.stand {
            Stand::Waiting => {}
            Stand::Cancelled => return "-32006".to_owned(),
            _ => return "-32003".to_owned(),
        }
        let (start, count) = if now >= self.window.0 + limits().rate.1 { (now, 0) } else { self.window };
        if count >= limits().rate.0 {
            return "-32000".to_owned();
        }
        self.window = (start, count + 1);
        match say {
            Say::WrongPrompt => return "-32003".to_owned(),
            Say::Huge => return "-32004".to_owned(),
            _ => {}
        }
        self.active = now;
        match say {
            Say::Back => self.back(),
            Say::Skip => self.answer(&Value::Null, now),
            Say::Value(value) => self.answer(value, now),
            Say::Right | Say::WrongPrompt | Say::Huge => unreachable!("dealt with above"),
        }
    }

    fn refuse(&mut self) -> String {
        self.attempts += 1;
        self.prompts += 1;
        format!("refused, {}", self.line())
    }

    fn ask(&mut self, at: usize, is_same_question: bool) -> String {
        self.at = at;
        self.prompts += 1;
        self.refusals = if is_same_question { self.refusals } else { 0 };
        self.attempts = self.refusals;
        self.line()
    }

    fn back(&mut self) -> String {
        if self.at == 0 || self.at == 5 {
            // No attempt at an answer.
            self.prompts += 1;
            return format!("refused, {}", self.line());
        }
        self.told.pop();
        let within = std::mem::take(&mut self.in_form);
        self.ask(self.at - 1, within)
    }

    fn answer(&mut self, value: &Value, now: Timestamp) -> String {
        if self.attempts >= limits().attempts {
            self.close(Stand::Error("too_many_attempts"), now);
            return "-32004".to_owned();
        }
        let Some(value) = judge(self.at, value) else { return self.refuse() };
        if self.at == 2 && value.as_i64().is_some_and(|to| to < self.told[1].1.as_i64().unwrap()) {
            self.refusals += 1;
            return self.refuse();
        }
        self.told.push((NAMES[self.at].to_owned(), value));
        if self.at == 5 {
            self.stand = Stand::Completed;
            return self.line();
        }
        self.in_form = self.at == 1;
        self.ask(self.at + 1, self.at == 1)
    }

    fn cancel(&mut self, now: Timestamp) -> String {
        match (self.gone(now), &self.stand) {
            (Some(gone), _) => return gone.to_owned(),
            (None, Stand::Waiting) => self.close(Stand::Cancelled, now),
            (None, Stand::Cancelled) => return "-32006".to_owned(),
            (None, _) => return "-32003".to_owned(),
        }
        self.line()
    }
}

/// What becomes of a value as the answer to a question; only for the values that `a_value` makes.
fn judge(at: usize, value: &Value) -> Option<Value> {
    let is_empty = value.is_null() || value == "";
    let short = || value.as_str().filter(|text| (1..=8).contains(&text.len())).map(|text| json!(text));
    let digit = || {
        let n = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
        (0..=9).contains(&n).then(|| json!(n))
    };
    match NAMES[at] {
        "to" | "note" if is_empty => Some(Value::Null),
        "from" | "to" => digit(),
        "class" if is_empty => Some(json!("a")),
        "class" => (value == "a").then(|| json!("a")),
        "sure" => value.as_bool().map(|sure| json!(sure)),
        _ => short(),
    }
}

#[derive(Clone, Debug)]
enum Say {
    /// What the open question wants.
    Right,
    Value(Value),
    Back,
    Skip,
    WrongPrompt,
    Huge,
}

impl Say {
    fn to(&self, at: usize) -> Say {
        let right = [json!("Oslo"), json!(3), json!(5), json!("a"), json!(true), json!("zzz")];
        if matches!(self, Say::Right) { Say::Value(right[at].clone()) } else { self.clone() }
    }

    fn response(&self) -> Response {
        match self {
            Say::Right => unreachable!("made a value before"),
            Say::Value(value) => Response { value: value.clone(), ..Response::default() },
            Say::Back => action("back"),
            Say::Skip => action("skip"),
            Say::WrongPrompt => Response { prompt_id: Some("prompt_0".to_owned()), ..Response::default() },
            Say::Huge => Response { value: json!("x".repeat(600_000)), ..Response::default() },
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Respond(Say),
    /// The same, and the store strikes at one of its operations.
    RespondAndDie(Say, usize, Way),
    GoOn,
    Cancel,
    Pass(u64),
    Sweep,
    Restart,
}

fn a_value() -> impl Strategy<Value = Value> {
    let right = vec![json!("Oslo"), json!(3), json!(5), json!("a"), json!(true), json!("zzz"), json!("4")];
    let wrong =
        vec![json!(""), json!("much too long"), json!(12), json!(2.5), json!({ "x": 1 }), Value::Null];
    prop_oneof![4 => select(right), 1 => select(wrong)]
}

fn a_say() -> impl Strategy<Value = Say> {
    prop_oneof![
        16 => Just(Say::Right),
        6 => a_value().prop_map(Say::Value),
        2 => Just(Say::Back),
        1 => Just(Say::Skip),
        1 => Just(Say::WrongPrompt),
        1 => Just(Say::Huge),
    ]
}

fn an_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        14 => a_say().prop_map(Op::Respond),
        4 => (a_say(), 0usize..5, select(Way::ALL.to_vec())).prop_map(|(say, n, way)| Op::RespondAndDie(say, n, way)),
        1 => Just(Op::GoOn),
        1 => prop_oneof![6 => Just(Op::Pass(1)), 1 => Just(Op::Cancel)],
        8 => select(vec![1u64, 4, 11, 30]).prop_map(Op::Pass),
        1 => prop_oneof![8 => Just(Op::Pass(290)), 1 => Just(Op::Pass(90_000))],
        1 => Just(Op::Sweep),
        2 => Just(Op::Restart),
    ]
}

/// Whether the document has a way from one state to another, perhaps through states that nobody saw.
fn may_come_to(from: State, to: State) -> bool {
    use State::{Active, Cancelled, Completed, Error, Idle, Processing, WaitingUser};
    let all = [Idle, Active, WaitingUser, Processing, Completed, Cancelled, Error];
    let mut reached = vec![from];
    for _ in all {
        for next in all {
            if !reached.contains(&next) && reached.iter().any(|state| state.may_become(next)) {
                reached.push(next);
            }
        }
    }
    reached.contains(&to)
}

struct Walk {
    deeds: Deeds,
    time: Time,
    memory: Arc<Memory>,
    store: Arc<Faulty>,
    replica: Replica,
    other: Replica,
    id: String,
    model: Model,
    seen: State,
}

impl Walk {
    fn new() -> Self {
        let (deeds, time, memory) = (Deeds::default(), Time::new(), Arc::new(Memory::default()));
        let store = Arc::new(Faulty::over(&memory));
        let replica = Replica::new(store.clone(), &time, only(Trip(deeds.clone())), limits());
        let other = Replica::new(memory.clone(), &time, only(Trip(deeds.clone())), limits());
        let id = now(replica.start(json!({}))).unwrap().id;
        let model = Model::new(time.now());
        Walk { deeds, time, memory, store, replica, other, id, model, seen: State::WaitingUser }
    }

    fn act(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let at = self.time.now();
        match op {
            Op::Respond(say) => {
                let say = &say.to(self.model.at);
                let found = answer(now(self.replica.send(&self.id, say.response())));
                prop_assert_eq!(plain(&found), self.model.respond(say, at));
            }
            Op::RespondAndDie(say, n, way) => return self.die(&say.to(self.model.at), *n, *way),
            Op::GoOn => {
                let found = line(now(self.replica.go_on(&self.id)));
                prop_assert_eq!(plain(&found), self.expected());
                if self.model.gone(at).is_none() && self.model.stand == Stand::Waiting {
                    self.model.active = at;
                }
            }
            Op::Cancel => prop_assert_eq!(line(now(self.replica.cancel(&self.id))), self.model.cancel(at)),
            Op::Pass(seconds) => self.time.pass(Duration::from_secs(*seconds)),
            Op::Sweep => {
                now(self.replica.sessions.store().sweep(at)).unwrap();
                self.model.is_forgotten |= at >= self.model.ends() + limits().remembered;
            }
            Op::Restart => {
                let before = now(self.replica.look(&self.id)).ok().map(|standing| everything(&standing));
                let trip = only(Trip(self.deeds.clone()));
                let fresh = Replica::new(self.store.clone(), &self.time, trip, limits());
                self.other = std::mem::replace(&mut self.replica, fresh);
                let after = now(self.replica.look(&self.id)).ok().map(|standing| everything(&standing));
                prop_assert_eq!(before, after);
            }
        }
        self.compare()
    }

    fn expected(&self) -> String {
        self.model.gone(self.time.now()).map_or_else(|| self.model.line(), str::to_owned)
    }

    /// What anybody sees is what must be.
    fn compare(&mut self) -> Result<(), TestCaseError> {
        let found = now(self.other.look(&self.id));
        if let Ok(standing) = &found {
            self.see(standing)?;
            prop_assert_eq!(history(standing), self.model.told.clone());
            prop_assert_eq!(standing.session.last_active(), self.model.active);
            if self.model.stand == Stand::Waiting {
                prop_assert_eq!(standing.session.prompt_id(), format!("prompt_{}", self.model.prompts));
            }
        }
        prop_assert_eq!(plain(&line(found)), self.expected());
        let eve = self.other.env(Owner { tenant: "t", subject: "eve" });
        let foreign = now(self.other.sessions.look(&eve, Which::Id(&self.id)));
        prop_assert_eq!(code(&foreign.unwrap_err()), -32001);
        prop_assert!(self.deeds.booked() <= 1);
        if self.model.at == 5 {
            prop_assert_eq!(self.deeds.booked(), 1);
        }
        Ok(())
    }

    fn see(&mut self, standing: &Standing) -> Result<(), TestCaseError> {
        let state = standing.session.state();
        prop_assert!(may_come_to(self.seen, state), "{:?} became {:?}", self.seen, state);
        self.seen = state;
        Ok(())
    }

    /// Responds, and the store strikes. What was there before is there, or what comes after; nothing in between.
    fn die(&mut self, say: &Say, n: usize, way: Way) -> Result<(), TestCaseError> {
        let struck = Arc::new(Faulty::over(&self.memory));
        struck.at(n, way);
        let dying = Replica::new(struck.clone(), &self.time, only(Trip(self.deeds.clone())), limits());
        let (was_open, mut after) = (self.model.stand == Stand::Waiting, self.model.clone());
        let expected = after.respond(say, self.time.now());
        let answered = Running::new(dying.send(&self.id, say.response())).go();
        if let Some(answered) = answered.as_ref().filter(|_| !struck.has_struck()) {
            let answered = match answered {
                Ok(responded) => answer(Ok(responded.clone())),
                Err(problem) => code(problem).to_string(),
            };
            prop_assert_eq!(plain(&answered), expected);
            self.model = after;
            return self.compare();
        }
        prop_assert_eq!(answered.is_none(), way.dies());
        if let Ok(standing) = now(self.other.look(&self.id)) {
            self.see(&standing)?;
        }
        self.time.pass(limits().lease);
        let Ok(standing) = now(self.other.look(&self.id)) else {
            // Nobody can tell any more which of the two it was. It can only have been over in both.
            let at = self.time.now();
            prop_assert!(self.model.gone(at).is_some() || after.gone(at).is_some());
            self.model.active = Timestamp::UNIX_EPOCH;
            return Ok(());
        };
        let is_unknown = plain(&line(Ok(standing.clone()))) == "error outcome_unknown";
        if was_open && is_unknown {
            prop_assert_eq!(self.model.at, 4, "only there is something that must not happen twice");
            (after.stand, after.at) = (Stand::Error("outcome_unknown"), 4);
            self.model = after;
        } else if was_open {
            let is_as_before = standing.session.state() == State::WaitingUser
                && standing.session.prompt_id() == format!("prompt_{}", self.model.prompts);
            // What is refused puts no prompt, and is counted or not.
            let counted = &everything(&standing)["counted"];
            let is_counted = *counted == json!(after.window);
            prop_assert!(is_counted || *counted == json!(self.model.window), "{counted}");
            if !is_as_before || is_counted {
                self.model = after;
            }
        }
        // When it was settled, by whom, is not the model's business.
        self.model.active = standing.session.last_active();
        self.compare()
    }
}

fn plain(line: &str) -> String {
    line.split(" !").next().unwrap_or_default().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_does_what_the_model_does(ops in prop::collection::vec(an_op(), 0..40)) {
        let mut walk = Walk::new();
        for (n, op) in ops.iter().enumerate() {
            walk.act(op).map_err(|error| TestCaseError::fail(format!("operation {n}, {op:?}: {error}")))?;
        }
    }
}

#[test]
fn no_state_that_is_over_becomes_another() {
    use State::{Active, Cancelled, Completed, Error, Idle, Processing, WaitingUser};
    let all = [Idle, Active, WaitingUser, Processing, Completed, Cancelled, Error];
    // The table of the document, and the one way that it has not: a conversation without questions completes.
    let documented = [
        (Idle, Active),
        (Active, WaitingUser),
        (Active, Processing),
        (WaitingUser, Processing),
        (Processing, WaitingUser),
        (Processing, Completed),
    ];
    for from in all {
        for to in all {
            let ends = matches!(to, Cancelled | Error) && !matches!(from, Completed | Cancelled | Error);
            assert_eq!(from.may_become(to), documented.contains(&(from, to)) || ends, "{from:?} -> {to:?}");
        }
        assert_eq!(from.is_open(), all.iter().any(|to| from.may_become(*to)), "{from:?}");
    }
}
