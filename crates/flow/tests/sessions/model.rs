//! Model-based test: random operations on a session by two processes that may die at any moment.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{
    Limits, MemorySessionStore, SessionOwner, SessionRef, SessionSnapshot, SessionState, UserResponse,
};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::conversations::{EffectLog, Trip};
use crate::faulty_store::{FaultySessionStore, StoreFault};
use crate::harness::{
    ManualClock, PolledFuture, Replica, action_response, answer_history, error_code, expect_ready,
    reply_to_text, result_to_text, single_conversation, snapshot_json,
};

fn limits() -> Limits {
    Limits { max_attempts: 3, response_rate: (6, Duration::from_secs(10)), ..Limits::default() }
}

/// The questions of a trip, in order. The second and third are one form; a step follows the fourth; an effect
/// that must not be repeated follows the fifth.
const QUESTION_NAMES: [&str; 6] = ["city", "from", "to", "class", "sure", "note"];

#[derive(Clone, Debug, PartialEq)]
enum ModelState {
    Waiting,
    Completed,
    Cancelled,
    Error(&'static str),
}

/// The expected state, as simple as possible and independent of the implementation.
#[derive(Clone, Debug)]
struct SessionModel {
    state: ModelState,
    history: Vec<(String, Value)>,
    question_index: usize,
    /// The first field of the form is answered, but not the second.
    in_form: bool,
    attempts: u32,
    refusals: u32,
    prompts: u32,
    created: Timestamp,
    active: Timestamp,
    window: (Timestamp, u32),
    is_forgotten: bool,
}

impl SessionModel {
    fn new(now: Timestamp) -> Self {
        SessionModel {
            state: ModelState::Waiting,
            history: Vec::new(),
            question_index: 0,
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
        match self.state {
            ModelState::Waiting => {
                (self.active + limits.idle_timeout).min(self.created + limits.max_lifetime)
            }
            _ => self.active + limits.grace_period,
        }
    }

    /// The error that every operation returns, if the session has ended.
    fn unavailable_code(&self, now: Timestamp) -> Option<&'static str> {
        if self.is_forgotten {
            return Some("-32001");
        }
        (now >= self.ends()).then_some("-32002")
    }

    fn close(&mut self, stand: ModelState, now: Timestamp) {
        (self.state, self.active) = (stand, now);
    }

    /// The observable state, without the problems of rejected answers.
    fn to_text(&self) -> String {
        match &self.state {
            ModelState::Waiting => format!("ask {}", QUESTION_NAMES[self.question_index]),
            ModelState::Completed => {
                let of = |n: usize| &self.history[n].1;
                format!("done {}", json!([of(0), of(1), of(2), of(3), 1, of(4), 7, of(5)]))
            }
            ModelState::Cancelled => "cancelled".to_owned(),
            ModelState::Error(kind) => format!("error {kind}"),
        }
    }

    fn respond(&mut self, say: &ModelResponse, now: Timestamp) -> String {
        if let Some(gone) = self.unavailable_code(now) {
            return gone.to_owned();
        }
        match self.state {
            ModelState::Waiting => {}
            ModelState::Cancelled => return "-32006".to_owned(),
            _ => return "-32003".to_owned(),
        }
        let (start, count) =
            if now >= self.window.0 + limits().response_rate.1 { (now, 0) } else { self.window };
        if count >= limits().response_rate.0 {
            return "-32000".to_owned();
        }
        self.window = (start, count + 1);
        match say {
            ModelResponse::WrongPrompt => return "-32003".to_owned(),
            ModelResponse::Huge => return "-32004".to_owned(),
            _ => {}
        }
        self.active = now;
        match say {
            ModelResponse::Back => self.back(),
            ModelResponse::Skip => self.answer(&Value::Null, now),
            ModelResponse::Value(value) => self.answer(value, now),
            ModelResponse::Valid | ModelResponse::WrongPrompt | ModelResponse::Huge => {
                unreachable!("dealt with above")
            }
        }
    }

    fn refuse(&mut self) -> String {
        self.attempts += 1;
        self.prompts += 1;
        format!("refused, {}", self.to_text())
    }

    fn ask(&mut self, at: usize, is_same_question: bool) -> String {
        self.question_index = at;
        self.prompts += 1;
        self.refusals = if is_same_question { self.refusals } else { 0 };
        self.attempts = self.refusals;
        self.to_text()
    }

    fn back(&mut self) -> String {
        if self.question_index == 0 || self.question_index == 5 {
            // Does not count as an attempt.
            self.prompts += 1;
            return format!("refused, {}", self.to_text());
        }
        self.history.pop();
        let within = std::mem::take(&mut self.in_form);
        self.ask(self.question_index - 1, within)
    }

    fn answer(&mut self, value: &Value, now: Timestamp) -> String {
        if self.attempts >= limits().max_attempts {
            self.close(ModelState::Error("too_many_attempts"), now);
            return "-32004".to_owned();
        }
        let Some(value) = expected_value(self.question_index, value) else { return self.refuse() };
        if self.question_index == 2
            && value.as_i64().is_some_and(|to| to < self.history[1].1.as_i64().unwrap())
        {
            self.refusals += 1;
            return self.refuse();
        }
        self.history.push((QUESTION_NAMES[self.question_index].to_owned(), value));
        if self.question_index == 5 {
            self.state = ModelState::Completed;
            return self.to_text();
        }
        self.in_form = self.question_index == 1;
        self.ask(self.question_index + 1, self.question_index == 1)
    }

    fn cancel(&mut self, now: Timestamp) -> String {
        match (self.unavailable_code(now), &self.state) {
            (Some(gone), _) => return gone.to_owned(),
            (None, ModelState::Waiting) => self.close(ModelState::Cancelled, now),
            (None, ModelState::Cancelled) => return "-32006".to_owned(),
            (None, _) => return "-32003".to_owned(),
        }
        self.to_text()
    }
}

/// Validates a value as the answer to a question; only for the values that `arbitrary_value` generates.
fn expected_value(at: usize, value: &Value) -> Option<Value> {
    let is_empty = value.is_null() || value == "";
    let short = || value.as_str().filter(|text| (1..=8).contains(&text.len())).map(|text| json!(text));
    let digit = || {
        let n = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
        (0..=9).contains(&n).then(|| json!(n))
    };
    match QUESTION_NAMES[at] {
        "to" | "note" if is_empty => Some(Value::Null),
        "from" | "to" => digit(),
        "class" if is_empty => Some(json!("a")),
        "class" => (value == "a").then(|| json!("a")),
        "sure" => value.as_bool().map(|sure| json!(sure)),
        _ => short(),
    }
}

#[derive(Clone, Debug)]
enum ModelResponse {
    /// A valid answer to the open question.
    Valid,
    Value(Value),
    Back,
    Skip,
    WrongPrompt,
    Huge,
}

impl ModelResponse {
    fn resolve_for(&self, at: usize) -> ModelResponse {
        let right = [json!("Oslo"), json!(3), json!(5), json!("a"), json!(true), json!("zzz")];
        if matches!(self, ModelResponse::Valid) {
            ModelResponse::Value(right[at].clone())
        } else {
            self.clone()
        }
    }

    fn to_response(&self) -> UserResponse {
        match self {
            ModelResponse::Valid => unreachable!("made a value before"),
            ModelResponse::Value(value) => UserResponse { value: value.clone(), ..UserResponse::default() },
            ModelResponse::Back => action_response("back"),
            ModelResponse::Skip => action_response("skip"),
            ModelResponse::WrongPrompt => {
                UserResponse { prompt_id: Some("prompt_0".to_owned()), ..UserResponse::default() }
            }
            ModelResponse::Huge => {
                UserResponse { value: json!("x".repeat(600_000)), ..UserResponse::default() }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum ModelOp {
    Respond(ModelResponse),
    /// The same, with a fault at one of the store operations.
    RespondWithFault(ModelResponse, usize, StoreFault),
    KeepAlive,
    Cancel,
    AdvanceClock(u64),
    Sweep,
    Restart,
}

fn arbitrary_value() -> impl Strategy<Value = Value> {
    let right = vec![json!("Oslo"), json!(3), json!(5), json!("a"), json!(true), json!("zzz"), json!("4")];
    let wrong =
        vec![json!(""), json!("much too long"), json!(12), json!(2.5), json!({ "x": 1 }), Value::Null];
    prop_oneof![4 => select(right), 1 => select(wrong)]
}

fn arbitrary_response() -> impl Strategy<Value = ModelResponse> {
    prop_oneof![
        16 => Just(ModelResponse::Valid),
        6 => arbitrary_value().prop_map(ModelResponse::Value),
        2 => Just(ModelResponse::Back),
        1 => Just(ModelResponse::Skip),
        1 => Just(ModelResponse::WrongPrompt),
        1 => Just(ModelResponse::Huge),
    ]
}

fn arbitrary_op() -> impl Strategy<Value = ModelOp> {
    prop_oneof![
        14 => arbitrary_response().prop_map(ModelOp::Respond),
        4 => (arbitrary_response(), 0usize..5, select(StoreFault::ALL.to_vec())).prop_map(|(say, n, way)| ModelOp::RespondWithFault(say, n, way)),
        1 => Just(ModelOp::KeepAlive),
        1 => prop_oneof![6 => Just(ModelOp::AdvanceClock(1)), 1 => Just(ModelOp::Cancel)],
        8 => select(vec![1u64, 4, 11, 30]).prop_map(ModelOp::AdvanceClock),
        1 => prop_oneof![8 => Just(ModelOp::AdvanceClock(290)), 1 => Just(ModelOp::AdvanceClock(90_000))],
        1 => Just(ModelOp::Sweep),
        2 => Just(ModelOp::Restart),
    ]
}

/// Whether the specification has a path from one state to another, possibly through unobserved states.
fn is_reachable(from: SessionState, to: SessionState) -> bool {
    use SessionState::{Active, Cancelled, Completed, Error, Idle, Processing, WaitingUser};
    let all = [Idle, Active, WaitingUser, Processing, Completed, Cancelled, Error];
    let mut reached = vec![from];
    for _ in all {
        for next in all {
            if !reached.contains(&next) && reached.iter().any(|state| state.can_transition_to(next)) {
                reached.push(next);
            }
        }
    }
    reached.contains(&to)
}

struct ModelRun {
    effects: EffectLog,
    clock: ManualClock,
    memory: Arc<MemorySessionStore>,
    store: Arc<FaultySessionStore>,
    replica: Replica,
    other: Replica,
    id: String,
    model: SessionModel,
    last_state: SessionState,
}

impl ModelRun {
    fn new() -> Self {
        let (effects, clock, memory) =
            (EffectLog::default(), ManualClock::new(), Arc::new(MemorySessionStore::default()));
        let store = Arc::new(FaultySessionStore::with_inner(&memory));
        let replica =
            Replica::new(store.clone(), &clock, single_conversation(Trip(effects.clone())), limits());
        let other =
            Replica::new(memory.clone(), &clock, single_conversation(Trip(effects.clone())), limits());
        let id = expect_ready(replica.start(json!({}))).unwrap().id;
        let model = SessionModel::new(clock.now());
        ModelRun {
            effects,
            clock,
            memory,
            store,
            replica,
            other,
            id,
            model,
            last_state: SessionState::WaitingUser,
        }
    }

    fn apply(&mut self, op: &ModelOp) -> Result<(), TestCaseError> {
        let at = self.clock.now();
        match op {
            ModelOp::Respond(say) => {
                let say = &say.resolve_for(self.model.question_index);
                let found =
                    reply_to_text(expect_ready(self.replica.respond_with(&self.id, say.to_response())));
                prop_assert_eq!(without_problems(&found), self.model.respond(say, at));
            }
            ModelOp::RespondWithFault(say, n, way) => {
                return self.respond_with_fault(&say.resolve_for(self.model.question_index), *n, *way);
            }
            ModelOp::KeepAlive => {
                let found = result_to_text(expect_ready(self.replica.keep_alive(&self.id)));
                prop_assert_eq!(without_problems(&found), self.expected_text());
                if self.model.unavailable_code(at).is_none() && self.model.state == ModelState::Waiting {
                    self.model.active = at;
                }
            }
            ModelOp::Cancel => {
                prop_assert_eq!(
                    result_to_text(expect_ready(self.replica.cancel(&self.id))),
                    self.model.cancel(at)
                );
            }
            ModelOp::AdvanceClock(seconds) => self.clock.advance(Duration::from_secs(*seconds)),
            ModelOp::Sweep => {
                expect_ready(self.replica.sessions.store().sweep(at)).unwrap();
                self.model.is_forgotten |= at >= self.model.ends() + limits().retention;
            }
            ModelOp::Restart => {
                let before =
                    expect_ready(self.replica.status(&self.id)).ok().map(|snapshot| snapshot_json(&snapshot));
                let trip = single_conversation(Trip(self.effects.clone()));
                let fresh = Replica::new(self.store.clone(), &self.clock, trip, limits());
                self.other = std::mem::replace(&mut self.replica, fresh);
                let after =
                    expect_ready(self.replica.status(&self.id)).ok().map(|snapshot| snapshot_json(&snapshot));
                prop_assert_eq!(before, after);
            }
        }
        self.compare_with_model()
    }

    fn expected_text(&self) -> String {
        self.model.unavailable_code(self.clock.now()).map_or_else(|| self.model.to_text(), str::to_owned)
    }

    /// Checks that every process sees the expected state.
    fn compare_with_model(&mut self) -> Result<(), TestCaseError> {
        let found = expect_ready(self.other.status(&self.id));
        if let Ok(snapshot) = &found {
            self.observe_state(snapshot)?;
            prop_assert_eq!(answer_history(snapshot), self.model.history.clone());
            prop_assert_eq!(snapshot.session.last_active(), self.model.active);
            if self.model.state == ModelState::Waiting {
                prop_assert_eq!(snapshot.session.prompt_id(), format!("prompt_{}", self.model.prompts));
            }
        }
        prop_assert_eq!(without_problems(&result_to_text(found)), self.expected_text());
        let eve = self.other.env(SessionOwner { tenant: "t", subject: "eve" });
        let foreign = expect_ready(self.other.sessions.status(&eve, SessionRef::Id(&self.id)));
        prop_assert_eq!(error_code(&foreign.unwrap_err()), -32001);
        prop_assert!(self.effects.booking_count() <= 1);
        if self.model.question_index == 5 {
            prop_assert_eq!(self.effects.booking_count(), 1);
        }
        Ok(())
    }

    fn observe_state(&mut self, snapshot: &SessionSnapshot) -> Result<(), TestCaseError> {
        let state = snapshot.session.state();
        prop_assert!(is_reachable(self.last_state, state), "{:?} became {:?}", self.last_state, state);
        self.last_state = state;
        Ok(())
    }

    /// Responds with a store fault. Afterwards the session must be in its old or its new state, nothing in
    /// between. between.
    fn respond_with_fault(
        &mut self,
        say: &ModelResponse,
        n: usize,
        fault: StoreFault,
    ) -> Result<(), TestCaseError> {
        let struck = Arc::new(FaultySessionStore::with_inner(&self.memory));
        struck.fail_at(n, fault);
        let dying = Replica::new(
            struck.clone(),
            &self.clock,
            single_conversation(Trip(self.effects.clone())),
            limits(),
        );
        let (was_open, mut after) = (self.model.state == ModelState::Waiting, self.model.clone());
        let expected = after.respond(say, self.clock.now());
        let answered = PolledFuture::new(dying.respond_with(&self.id, say.to_response())).poll_once();
        if let Some(answered) = answered.as_ref().filter(|_| !struck.has_faulted()) {
            let answered = match answered {
                Ok(responded) => reply_to_text(Ok(responded.clone())),
                Err(problem) => error_code(problem).to_string(),
            };
            prop_assert_eq!(without_problems(&answered), expected);
            self.model = after;
            return self.compare_with_model();
        }
        prop_assert_eq!(answered.is_none(), fault.kills_process());
        if let Ok(snapshot) = expect_ready(self.other.status(&self.id)) {
            self.observe_state(&snapshot)?;
        }
        self.clock.advance(limits().lease_duration);
        let Ok(snapshot) = expect_ready(self.other.status(&self.id)) else {
            // Which of the two happened cannot be determined. The session must have ended in both cases.
            let at = self.clock.now();
            prop_assert!(self.model.unavailable_code(at).is_some() || after.unavailable_code(at).is_some());
            self.model.active = Timestamp::UNIX_EPOCH;
            return Ok(());
        };
        let is_unknown = without_problems(&result_to_text(Ok(snapshot.clone()))) == "error outcome_unknown";
        if was_open && is_unknown {
            prop_assert_eq!(self.model.question_index, 4, "the only effect that must not be repeated");
            (after.state, after.question_index) = (ModelState::Error("outcome_unknown"), 4);
            self.model = after;
        } else if was_open {
            let is_as_before = snapshot.session.state() == SessionState::WaitingUser
                && snapshot.session.prompt_id() == format!("prompt_{}", self.model.prompts);
            // A rejected response issues no prompt, and may or may not be counted.
            let counted = &snapshot_json(&snapshot)["counted"];
            let is_counted = *counted == json!(after.window);
            prop_assert!(is_counted || *counted == json!(self.model.window), "{counted}");
            if !is_as_before || is_counted {
                self.model = after;
            }
        }
        // The model does not track when the fault was resolved, or by which process.
        self.model.active = snapshot.session.last_active();
        self.compare_with_model()
    }
}

fn without_problems(line: &str) -> String {
    line.split(" !").next().unwrap_or_default().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn session_matches_the_model(ops in prop::collection::vec(arbitrary_op(), 0..40)) {
        let mut walk = ModelRun::new();
        for (n, op) in ops.iter().enumerate() {
            walk.apply(op).map_err(|error| TestCaseError::fail(format!("operation {n}, {op:?}: {error}")))?;
        }
    }
}

#[test]
fn final_states_have_no_transitions() {
    use SessionState::{Active, Cancelled, Completed, Error, Idle, Processing, WaitingUser};
    let all = [Idle, Active, WaitingUser, Processing, Completed, Cancelled, Error];
    // The transitions of the specification, plus one: a conversation without questions completes.
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
            assert_eq!(
                from.can_transition_to(to),
                documented.contains(&(from, to)) || ends,
                "{from:?} -> {to:?}"
            );
        }
        assert_eq!(from.is_open(), all.iter().any(|to| from.can_transition_to(*to)), "{from:?}");
    }
}
