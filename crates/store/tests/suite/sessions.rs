//! Sessions: what every store of them does, be it a database or the memory of a process.

use std::sync::Arc;

use flow::session::{Admission, Memory, Owner, Quota, Row, SessionStore, StoreError};
use futures_util::future::join_all;
use jiff::Timestamp;

use crate::harness::{Place, ago, later, now};

/// Two replicas of one store.
pub(crate) struct Stores {
    pub(crate) replicas: [Arc<dyn SessionStore>; 2],
    _place: Option<Place>,
}

impl Stores {
    fn memory() -> Self {
        let memory: Arc<dyn SessionStore> = Arc::new(Memory::default());
        Self { replicas: [Arc::clone(&memory), memory], _place: None }
    }

    pub(crate) async fn at(place: Place) -> Self {
        Self { replicas: [place.open().await, place.open().await], _place: Some(place) }
    }
}

/// Sessions where it matters how many of them are open, and nothing else.
pub(crate) trait Beginning {
    /// Whether one was begun, where `most` may be open.
    async fn begin_up_to(
        &self,
        owner: Owner<'_>,
        id: &str,
        row: Row,
        most: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
}

impl<S: SessionStore + ?Sized> Beginning for S {
    async fn begin_up_to(
        &self,
        owner: Owner<'_>,
        id: &str,
        row: Row,
        most: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let quota = Quota { open: most, ..Quota::NONE };
        Ok(self.begin(owner, id, row, quota, now).await?.is_begun())
    }
}

/// Makes a test of each case for each store.
macro_rules! on_every {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::Stores::memory()).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::Stores::at(crate::harness::sqlite()).await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                if let Some(place) = crate::harness::postgres().await {
                    super::$case(super::Stores::at(place).await).await;
                }
            })+
        }
    };
}

on_every!(
    every_column_comes_back,
    strangers_see_and_change_nothing,
    what_is_not_there_is_not_changed,
    of_many_saves_one_succeeds,
    replicas_take_turns,
    nobody_begins_more_than_they_may,
    what_is_closed_or_has_ended_does_not_count,
    a_lease_is_renewed_and_the_version_stays,
    what_has_ended_loses_its_body_and_then_is_forgotten,
    an_open_session_that_was_swept_does_not_count,
    many_are_swept_bit_by_bit,
    sweeps_at_once_take_everything_once,
    of_many_who_spend_one_may,
    what_was_spent_is_forgotten_in_time,
    whoever_is_refused_learns_when_the_first_of_theirs_ends,
    the_latest_that_have_ended_are_kept,
    what_has_ended_unnoticed_is_among_those_that_have,
);

pub(crate) const ANN: Owner<'_> = Owner { tenant: "acme", subject: "ann" };
const BOB: Owner<'_> = Owner { tenant: "acme", subject: "bob" };
/// More than anybody has here.
const MANY: u32 = 1000;

pub(crate) fn row(body: &str) -> Row {
    let (ends, forgotten) = (later(300), later(90_000));
    Row { is_open: true, ends, forgotten, leased_until: None, body: Some(body.into()) }
}

async fn every_column_comes_back(Stores { replicas: [store, other], .. }: Stores) {
    let full = Row { leased_until: Some(later(10)), ..row("full") };
    let empty = Row { is_open: false, body: None, ends: ago(9), forgotten: ago(5), leased_until: None };
    let bytes = Row { body: Some((0..=255).collect()), ..row("") };
    let nothing = Row { body: Some(Vec::new()), ..row("") };
    let large = Row { body: Some((0..=250).cycle().take(300_000).collect()), ..row("") };
    let rows = [full, empty, bytes, nothing, large];
    for (number, first) in rows.iter().enumerate() {
        let id = format!("s-{number}");
        assert!(store.begin_up_to(ANN, &id, first.clone(), MANY, now()).await.unwrap());
        assert_eq!(store.load(ANN, &id).await.unwrap(), Some((1, first.clone())), "{number}");
        for (next, version) in rows.iter().zip(1..) {
            assert!(other.save(ANN, &id, version, next.clone()).await.unwrap());
            assert_eq!(store.load(ANN, &id).await.unwrap(), Some((version + 1, next.clone())), "{number}");
        }
    }
}

async fn strangers_see_and_change_nothing(Stores { replicas: [store, _], .. }: Stores) {
    assert!(store.begin_up_to(ANN, "one", row("mine"), MANY, now()).await.unwrap());
    let kept = store.load(ANN, "one").await.unwrap();
    for (tenant, subject) in [
        ("acme", "bob"),
        ("umbrella", "ann"),
        ("umbrella", "bob"),
        ("ann", "acme"),
        ("ACME", "ann"),
        ("acme", "ann "),
        ("%", "%"),
        ("acme", "ann' OR '1'='1"),
    ] {
        let stranger = Owner { tenant, subject };
        assert_eq!(store.load(stranger, "one").await.unwrap(), None, "{stranger:?}");
        assert!(!store.save(stranger, "one", 1, row("theirs")).await.unwrap(), "{stranger:?}");
        assert!(!store.renew(stranger, "one", 1, later(9)).await.unwrap(), "{stranger:?}");
        // Theirs are counted by themselves.
        let id = format!("{tenant} {subject}");
        assert!(store.begin_up_to(stranger, &id, row("theirs"), 1, now()).await.unwrap(), "{stranger:?}");
        assert_eq!(store.load(ANN, &id).await.unwrap(), None, "{stranger:?}");
    }
    assert_eq!(store.load(ANN, "one").await.unwrap(), kept);
}

async fn what_is_not_there_is_not_changed(Stores { replicas: [store, _], .. }: Stores) {
    assert!(store.begin_up_to(ANN, "one", row("first"), MANY, now()).await.unwrap());
    for id in ["two", "ONE", "one ", "%", "o_e"] {
        assert_eq!(store.load(ANN, id).await.unwrap(), None, "{id}");
        assert!(!store.save(ANN, id, 1, row("second")).await.unwrap(), "{id}");
        assert!(!store.renew(ANN, id, 1, later(9)).await.unwrap(), "{id}");
    }
    for version in [0, 2, -1, i64::MAX, i64::MIN] {
        assert!(!store.save(ANN, "one", version, row("second")).await.unwrap(), "{version}");
        assert!(!store.renew(ANN, "one", version, later(9)).await.unwrap(), "{version}");
    }
    let (version, kept) = store.load(ANN, "one").await.unwrap().unwrap();
    assert_eq!((version, kept.leased_until, kept.body), (1, None, Some(b"first".to_vec())));
}

/// Runs as many at once, half of them at each replica, and gives the numbers of those that said `true`.
async fn winners<F>(
    stores: &Stores,
    tries: usize,
    attempt: impl Fn(Arc<dyn SessionStore>, usize) -> F,
) -> Vec<usize>
where
    F: Future<Output = bool> + Send + 'static,
{
    let tasks = (0..tries).map(|number| tokio::spawn(attempt(stores.replicas[number % 2].clone(), number)));
    let answers = join_all(tasks.collect::<Vec<_>>()).await;
    (0..tries).filter(|number| *answers[*number].as_ref().unwrap()).collect()
}

async fn of_many_saves_one_succeeds(stores: Stores) {
    let store = &stores.replicas[0];
    assert!(store.begin_up_to(ANN, "one", row("first"), MANY, now()).await.unwrap());
    for version in 1..4 {
        let save = |store: Arc<dyn SessionStore>, number: usize| async move {
            store.save(ANN, "one", version, row(&format!("by {number}"))).await.unwrap()
        };
        let winners = winners(&stores, 100, save).await;
        assert_eq!(winners.len(), 1, "{winners:?}");
        let (found, kept) = store.load(ANN, "one").await.unwrap().unwrap();
        assert_eq!((found, kept.body), (version + 1, Some(format!("by {}", winners[0]).into())));
    }
}

async fn replicas_take_turns(Stores { replicas, .. }: Stores) {
    assert!(replicas[0].begin_up_to(ANN, "one", row("1"), MANY, now()).await.unwrap());
    for version in 1..=20_i64 {
        let (this, other) =
            if version % 2 == 0 { (&replicas[0], &replicas[1]) } else { (&replicas[1], &replicas[0]) };
        let (found, kept) = this.load(ANN, "one").await.unwrap().unwrap();
        assert_eq!((found, kept.body), (version, Some(version.to_string().into())));
        assert!(this.save(ANN, "one", version, row(&(version + 1).to_string())).await.unwrap());
        assert!(!other.save(ANN, "one", version, row("late")).await.unwrap());
        assert!(!other.renew(ANN, "one", version, later(9)).await.unwrap());
    }
}

async fn nobody_begins_more_than_they_may(stores: Stores) {
    let store = &stores.replicas[0];
    // The first time the connections are still to be made, and nobody is in anybody's way.
    for subject in ["ann", "bea", "cat", "dot", "eve"] {
        let owner = Owner { subject, ..ANN };
        let begin = |store: Arc<dyn SessionStore>, number: usize| async move {
            store.begin_up_to(owner, &format!("{subject} {number}"), row("new"), 7, now()).await.unwrap()
        };
        let winners = winners(&stores, 50, begin).await;
        assert_eq!(winners.len(), 7, "{winners:?}");
        for number in 0..50 {
            let is_there = store.load(owner, &format!("{subject} {number}")).await.unwrap().is_some();
            assert_eq!(is_there, winners.contains(&number), "{number}");
        }
        assert!(!store.begin_up_to(owner, subject, row("new"), 7, now()).await.unwrap());
        assert!(!store.begin_up_to(owner, subject, row("new"), 0, now()).await.unwrap());
        assert!(store.begin_up_to(owner, subject, row("new"), 8, now()).await.unwrap());
    }
}

async fn what_is_closed_or_has_ended_does_not_count(Stores { replicas: [store, _], .. }: Stores) {
    let time = now();
    let closed = Row { is_open: false, ..row("closed") };
    let ended = Row { ends: time, ..row("ended") };
    let ends_soon = Row { ends: time + std::time::Duration::from_micros(1), ..row("ends soon") };
    for (id, begun) in [("closed", closed.clone()), ("ended", ended), ("ends soon", ends_soon)] {
        assert!(store.begin_up_to(ANN, id, begun, 1, time).await.unwrap(), "{id}");
    }
    assert!(!store.begin_up_to(ANN, "one", row("one"), 1, time).await.unwrap(), "one has not ended yet");
    assert!(store.begin_up_to(ANN, "one", row("one"), 1, later(1)).await.unwrap());
    assert!(!store.begin_up_to(ANN, "two", row("two"), 1, later(1)).await.unwrap());
    assert!(store.save(ANN, "one", 1, closed).await.unwrap());
    assert!(store.begin_up_to(ANN, "two", row("two"), 1, later(1)).await.unwrap());
    assert!(store.save(ANN, "one", 2, row("open again")).await.unwrap());
    assert!(!store.begin_up_to(ANN, "three", row("three"), 2, later(1)).await.unwrap());
}

async fn a_lease_is_renewed_and_the_version_stays(Stores { replicas: [store, other], .. }: Stores) {
    let leased = Row { leased_until: Some(later(1)), ..row("first") };
    assert!(store.begin_up_to(ANN, "one", leased.clone(), MANY, now()).await.unwrap());
    for until in [later(2), later(3), ago(7)] {
        assert!(other.renew(ANN, "one", 1, until).await.unwrap());
        let renewed = Row { leased_until: Some(until), ..leased.clone() };
        assert_eq!(store.load(ANN, "one").await.unwrap(), Some((1, renewed)));
    }
    assert!(store.save(ANN, "one", 1, row("second")).await.unwrap());
    assert!(!other.renew(ANN, "one", 1, later(9)).await.unwrap(), "a version that is gone");
    assert_eq!(store.load(ANN, "one").await.unwrap().unwrap().1.leased_until, None);
}

const MICROSECOND: std::time::Duration = std::time::Duration::from_micros(1);

async fn what_has_ended_loses_its_body_and_then_is_forgotten(Stores { replicas: [store, _], .. }: Stores) {
    let kept = row("kept");
    let Row { ends, forgotten, .. } = kept;
    assert!(store.begin_up_to(ANN, "one", kept.clone(), MANY, now()).await.unwrap());
    let other = Row { ends: later(900), forgotten: forgotten + MICROSECOND, ..row("other") };
    assert!(store.begin_up_to(BOB, "two", other, MANY, now()).await.unwrap());
    assert_eq!(store.sweep(ends - MICROSECOND).await.unwrap(), 0);
    assert_eq!(store.load(ANN, "one").await.unwrap(), Some((1, kept.clone())));
    assert_eq!(store.sweep(ends).await.unwrap(), 1);
    assert_eq!(store.sweep(ends).await.unwrap(), 0, "once is enough");
    let (version, swept) = store.load(ANN, "one").await.unwrap().unwrap();
    assert_eq!((version, swept.ends, swept.forgotten, swept.body), (1, ends, forgotten, None));
    assert!(store.load(BOB, "two").await.unwrap().unwrap().1.body.is_some());
    // Who was still at it may write it down.
    assert!(store.save(ANN, "one", 1, kept.clone()).await.unwrap());
    assert_eq!(store.load(ANN, "one").await.unwrap(), Some((2, kept)));
    assert_eq!(store.sweep(forgotten - MICROSECOND).await.unwrap(), 2, "both have ended");
    assert!(store.load(ANN, "one").await.unwrap().is_some());
    assert_eq!(store.sweep(forgotten).await.unwrap(), 1);
    assert_eq!(store.load(ANN, "one").await.unwrap(), None);
    assert!(!store.save(ANN, "one", 2, row("late")).await.unwrap());
    assert_eq!(store.sweep(later(100_000)).await.unwrap(), 1);
    // With a body or without, and whenever it ends: what is forgotten is gone.
    let odd = Row { forgotten: later(1), ..row("odd") };
    assert!(store.begin_up_to(ANN, "three", odd, MANY, now()).await.unwrap());
    assert_eq!(store.sweep(later(2)).await.unwrap(), 1);
    assert_eq!(store.load(ANN, "three").await.unwrap(), None);
}

async fn an_open_session_that_was_swept_does_not_count(Stores { replicas: [store, _], .. }: Stores) {
    assert!(store.begin_up_to(ANN, "one", row("one"), 1, now()).await.unwrap());
    assert!(!store.begin_up_to(ANN, "two", row("two"), 1, now()).await.unwrap());
    assert_eq!(store.sweep(later(301)).await.unwrap(), 1);
    let long = Row { ends: later(1000), ..row("two") };
    assert!(store.begin_up_to(ANN, "two", long, 1, later(301)).await.unwrap());
}

/// Begins so many sessions, some at a time, and spends as many tokens. On a busy disk that takes a while.
async fn fill(store: &Arc<dyn SessionStore>, count: u16, sessions: Row, spent: Timestamp) {
    let numbers: Vec<u16> = (0..count).collect();
    for some in numbers.chunks(200) {
        let begins = some.iter().copied().map(async |number| {
            let id = format!("s-{number}");
            assert!(store.begin_up_to(ANN, &id, sessions.clone(), u32::MAX, ago(1000)).await.unwrap());
            assert!(store.spend(&token(number), spent).await.unwrap());
        });
        join_all(begins).await;
    }
}

fn token(number: u16) -> [u8; 32] {
    let mut token = [7; 32];
    token[..2].copy_from_slice(&number.to_le_bytes());
    token
}

async fn many_are_swept_bit_by_bit(Stores { replicas: [store, _], .. }: Stores) {
    // All times are told from before it is filled.
    let start = now();
    let at = |seconds| start + std::time::Duration::from_secs(seconds);
    fill(&store, 1100, Row { is_open: false, ends: at(20), forgotten: at(40), ..row("old") }, at(50)).await;
    assert!(store.begin_up_to(BOB, "young", row("young"), 1, now()).await.unwrap());
    let sweep = async |time: Timestamp| {
        let (mut counts, mut sum) = (Vec::new(), 0);
        while let swept @ 1.. = store.sweep(time).await.unwrap() {
            counts.push(swept);
            sum += swept;
        }
        println!("{counts:?}");
        sum
    };
    assert_eq!(sweep(at(10)).await, 0);
    assert_eq!(sweep(at(30)).await, 1100, "their bodies");
    assert_eq!(sweep(at(60)).await, 2200, "all of them, and the tokens");
    assert_eq!(store.load(ANN, "s-7").await.unwrap(), None);
    assert!(store.load(BOB, "young").await.unwrap().unwrap().1.body.is_some());
}

async fn sweeps_at_once_take_everything_once(stores: Stores) {
    let store = stores.replicas[0].clone();
    fill(&store, 300, Row { is_open: false, ends: ago(20), ..row("old") }, later(90_000)).await;
    let sweeps = (0..8).map(|number| {
        let store = stores.replicas[number % 2].clone();
        tokio::spawn(async move {
            let mut sum = 0;
            for _ in 0..5 {
                sum += store.sweep(now()).await.unwrap();
            }
            sum
        })
    });
    let saves = (0..100).map(|number| {
        let store = stores.replicas[number % 2].clone();
        tokio::spawn(
            async move { store.save(ANN, &format!("s-{number}"), 1, row("going on")).await.unwrap() },
        )
    });
    let (saves, sweeps): (Vec<_>, Vec<_>) = (saves.collect(), sweeps.collect());
    for saved in join_all(saves).await {
        assert!(saved.unwrap(), "a sweep changes no version");
    }
    let swept: u64 = join_all(sweeps).await.into_iter().map(Result::unwrap).sum::<u64>()
        + store.sweep(now()).await.unwrap();
    assert!((200..=300).contains(&swept), "{swept}");
    for number in 0..300 {
        let (_, kept) = store.load(ANN, &format!("s-{number}")).await.unwrap().unwrap();
        assert_eq!(kept.body.is_some(), number < 100, "{number}");
    }
}

async fn of_many_who_spend_one_may(stores: Stores) {
    for number in 0..3 {
        let spend = |store: Arc<dyn SessionStore>, _| async move {
            store.spend(&token(number), later(60)).await.unwrap()
        };
        assert_eq!(winners(&stores, 50, spend).await.len(), 1);
    }
}

async fn what_was_spent_is_forgotten_in_time(Stores { replicas: [store, other], .. }: Stores) {
    let end = later(60);
    assert!(store.spend(&token(1), end).await.unwrap());
    assert!(store.spend(&token(2), end + MICROSECOND).await.unwrap());
    assert_eq!(store.sweep(end - MICROSECOND).await.unwrap(), 0);
    assert!(!other.spend(&token(1), end).await.unwrap());
    let spent = async |number| other.is_spent(&token(number)).await.unwrap();
    assert_eq!([spent(1).await, spent(2).await, spent(3).await], [true, true, false]);
    assert_eq!(other.sweep(end).await.unwrap(), 1);
    assert_eq!([spent(1).await, spent(2).await, spent(3).await], [false, true, false]);
    assert!(other.spend(&token(1), end).await.unwrap());
    assert!(!store.spend(&token(2), end + MICROSECOND).await.unwrap());
}

async fn whoever_is_refused_learns_when_the_first_of_theirs_ends(
    Stores { replicas: [store, other], .. }: Stores,
) {
    let time = now();
    let at = |seconds| time + std::time::Duration::from_secs(seconds);
    let quota = |open| Quota { open, ..Quota::NONE };
    let closed = Row { is_open: false, ends: at(5), ..row("closed") };
    let rows = [("over", 0, ANN), ("late", 70, ANN), ("soon", 30, ANN), ("later", 50, ANN), ("bob", 10, BOB)];
    assert!(store.begin(ANN, "closed", closed.clone(), quota(9), time).await.unwrap().is_begun());
    for (id, ends, owner) in rows {
        let open = Row { ends: at(ends), ..row(id) };
        assert!(store.begin(owner, id, open, quota(9), time).await.unwrap().is_begun(), "{id}");
    }
    let begin = async |most, now| other.begin(ANN, "new", row("new"), quota(most), now).await.unwrap();
    let full = |seconds| Admission::Full { until: Some(at(seconds)) };
    assert_eq!(begin(3, time).await, full(30));
    assert_eq!(begin(1, time).await, full(30));
    assert_eq!(begin(2, at(30)).await, full(50), "that one has ended");
    assert!(store.save(ANN, "later", 1, closed).await.unwrap());
    assert_eq!(begin(1, at(30)).await, full(70));
    assert_eq!(begin(0, at(70)).await, Admission::Full { until: None });
    assert_eq!(begin(1, at(70)).await, Admission::Begun);
}

async fn the_latest_that_have_ended_are_kept(Stores { replicas: [store, other], .. }: Stores) {
    let time = now();
    let at = |seconds| time + std::time::Duration::from_secs(seconds);
    let closed = |ends| Row { is_open: false, ends: at(ends), ..row("closed") };
    let begin = async |owner, id: &str, row, ended| {
        let quota = Quota { open: 9, ended };
        assert!(store.begin(owner, id, row, quota, time).await.unwrap().is_begun(), "{id}");
    };
    // Not in the order in which they end. Some have no body any more, and whose ids begin otherwise is no session.
    for (id, ends) in [("session_a", 40), ("session_c", 20), ("session_b", 30), ("session_d", 10)] {
        begin(ANN, id, Row { body: (ends > 20).then(Vec::new), ..closed(ends) }, u32::MAX).await;
    }
    for (owner, id) in
        [(ANN, "plan_a"), (ANN, "sessions"), (ANN, "Session_e"), (ANN, "sessionXf"), (BOB, "session_g")]
    {
        begin(owner, id, closed(1), u32::MAX).await;
    }
    begin(Owner { tenant: "umbrella", ..ANN }, "session_h", closed(1), u32::MAX).await;
    begin(ANN, "session_open", row("open"), u32::MAX).await;
    let kept = async || {
        let mut kept = String::new();
        for name in ["session_a", "session_b", "session_c", "session_d", "session_new", "session_more"] {
            let is_kept = other.load(ANN, name).await.unwrap().is_some();
            kept.push_str(if is_kept { name.strip_prefix("session_").unwrap() } else { "-" });
        }
        kept
    };
    // One that is open does not count, but those are counted when it is begun.
    begin(ANN, "session_new", row("new"), 3).await;
    assert_eq!(kept().await, "abc-new-");
    begin(ANN, "plan_b", closed(0), 2).await;
    assert_eq!(kept().await, "ab--new-");
    // One that is closed from the beginning counts at once.
    begin(ANN, "session_more", closed(35), 2).await;
    assert_eq!(kept().await, "a---newmore");
    let full = Quota { open: 0, ended: 0 };
    assert!(!store.begin(ANN, "session_none", row(""), full, time).await.unwrap().is_begun());
    assert_eq!(kept().await, "a---newmore", "who is refused changes nothing");
    begin(ANN, "session_last", row(""), 0).await;
    assert_eq!(kept().await, "----new-");
    for id in ["plan_a", "plan_b", "sessions", "Session_e", "sessionXf", "session_open"] {
        assert!(other.load(ANN, id).await.unwrap().is_some(), "{id}");
    }
    assert!(other.load(BOB, "session_g").await.unwrap().is_some(), "others are not concerned");
    assert!(other.load(Owner { tenant: "umbrella", ..ANN }, "session_h").await.unwrap().is_some());
}

async fn what_has_ended_unnoticed_is_among_those_that_have(Stores { replicas: [store, other], .. }: Stores) {
    let time = now();
    let at = |seconds| time + std::time::Duration::from_secs(seconds);
    let begin = async |id: &str, ends, now| {
        let quota = Quota { open: 9, ended: 2 };
        let open = Row { ends: at(ends), ..row(id) };
        assert!(store.begin(ANN, id, open, quota, at(now)).await.unwrap().is_begun(), "{id}");
    };
    for (id, ends) in [("session_a", 10), ("session_b", 20), ("session_c", 30), ("session_d", 40)] {
        begin(id, ends, 0).await;
    }
    let kept = async |id| other.load(ANN, id).await.unwrap().is_some();
    begin("session_e", 90, 30).await;
    let found = [kept("session_a").await, kept("session_b").await, kept("session_c").await];
    assert_eq!(found, [false, true, true], "three have ended, and two are kept");
    // Whether they were swept meanwhile makes no difference.
    assert_eq!(other.sweep(at(30)).await.unwrap(), 2);
    begin("session_f", 90, 45).await;
    let found = [kept("session_b").await, kept("session_c").await, kept("session_d").await];
    assert_eq!(found, [false, true, true]);
}
