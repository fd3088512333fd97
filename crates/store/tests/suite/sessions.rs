//! Sessions: what every store of them does, be it a database or the memory of a process.

use std::sync::Arc;

use flow::session::{
    Admission, MemorySessionStore, SessionOwner, SessionQuota, SessionRow, SessionStore, StoreError,
};
use futures_util::future::join_all;
use jiff::Timestamp;

use crate::harness::{TestDatabase, now_micros, seconds_ago, seconds_from_now};

/// Two replicas of one store.
pub(crate) struct StoreReplicas {
    pub(crate) replicas: [Arc<dyn SessionStore>; 2],
    _place: Option<TestDatabase>,
}

impl StoreReplicas {
    fn memory() -> Self {
        let memory: Arc<dyn SessionStore> = Arc::new(MemorySessionStore::default());
        Self { replicas: [Arc::clone(&memory), memory], _place: None }
    }

    pub(crate) async fn open(database: TestDatabase) -> Self {
        Self { replicas: [database.open().await, database.open().await], _place: Some(database) }
    }
}

/// Sessions where it matters how many of them are open, and nothing else.
pub(crate) trait InsertUpTo {
    /// Whether one was begun, where `most` may be open.
    async fn insert_up_to(
        &self,
        owner: SessionOwner<'_>,
        id: &str,
        row: SessionRow,
        most: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
}

impl<S: SessionStore + ?Sized> InsertUpTo for S {
    async fn insert_up_to(
        &self,
        owner: SessionOwner<'_>,
        id: &str,
        row: SessionRow,
        most: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let quota = SessionQuota { max_open: most, ..SessionQuota::UNLIMITED };
        Ok(self.insert(owner, id, row, quota, now).await?.is_admitted())
    }
}

/// Makes a test of each case for each store.
macro_rules! test_on_every_store {
    ($($case:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::StoreReplicas::memory()).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(super::StoreReplicas::open(crate::harness::sqlite()).await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                if let Some(place) = crate::harness::postgres().await {
                    super::$case(super::StoreReplicas::open(place).await).await;
                }
            })+
        }
    };
}

test_on_every_store!(
    every_column_round_trips,
    other_owners_cannot_read_or_change_a_session,
    missing_sessions_are_not_changed,
    one_of_many_concurrent_saves_succeeds,
    replicas_can_save_alternately,
    concurrent_inserts_do_not_exceed_the_quota,
    closed_and_expired_sessions_do_not_count_as_open,
    renewing_a_lease_keeps_the_version,
    sweep_removes_bodies_then_rows,
    swept_open_session_does_not_count_as_open,
    large_sweep_proceeds_in_batches,
    concurrent_sweeps_remove_every_row_once,
    one_of_many_concurrent_spends_succeeds,
    spent_tokens_are_swept_after_their_deadline,
    full_quota_reports_the_earliest_expiry,
    latest_ended_sessions_are_retained,
    expired_open_sessions_count_as_ended,
);

pub(crate) const ANN: SessionOwner<'_> = SessionOwner { tenant: "acme", subject: "ann" };
const BOB: SessionOwner<'_> = SessionOwner { tenant: "acme", subject: "bob" };
/// More than anybody has here.
const HIGH_SESSION_LIMIT: u32 = 1000;

pub(crate) fn session_row(body: &str) -> SessionRow {
    let (ends, forgotten) = (seconds_from_now(300), seconds_from_now(90_000));
    SessionRow {
        is_open: true,
        expires_at: ends,
        delete_at: forgotten,
        leased_until: None,
        body: Some(body.into()),
    }
}

async fn every_column_round_trips(StoreReplicas { replicas: [store, other], .. }: StoreReplicas) {
    let full = SessionRow { leased_until: Some(seconds_from_now(10)), ..session_row("full") };
    let empty = SessionRow {
        is_open: false,
        body: None,
        expires_at: seconds_ago(9),
        delete_at: seconds_ago(5),
        leased_until: None,
    };
    let bytes = SessionRow { body: Some((0..=255).collect()), ..session_row("") };
    let nothing = SessionRow { body: Some(Vec::new()), ..session_row("") };
    let large = SessionRow { body: Some((0..=250).cycle().take(300_000).collect()), ..session_row("") };
    let rows = [full, empty, bytes, nothing, large];
    for (number, first) in rows.iter().enumerate() {
        let id = format!("s-{number}");
        assert!(store.insert_up_to(ANN, &id, first.clone(), HIGH_SESSION_LIMIT, now_micros()).await.unwrap());
        assert_eq!(store.load(ANN, &id).await.unwrap(), Some((1, first.clone())), "{number}");
        for (next, version) in rows.iter().zip(1..) {
            assert!(other.save(ANN, &id, version, next.clone()).await.unwrap());
            assert_eq!(store.load(ANN, &id).await.unwrap(), Some((version + 1, next.clone())), "{number}");
        }
    }
}

async fn other_owners_cannot_read_or_change_a_session(
    StoreReplicas { replicas: [store, _], .. }: StoreReplicas,
) {
    assert!(
        store.insert_up_to(ANN, "one", session_row("mine"), HIGH_SESSION_LIMIT, now_micros()).await.unwrap()
    );
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
        let stranger = SessionOwner { tenant, subject };
        assert_eq!(store.load(stranger, "one").await.unwrap(), None, "{stranger:?}");
        assert!(!store.save(stranger, "one", 1, session_row("theirs")).await.unwrap(), "{stranger:?}");
        assert!(!store.renew_lease(stranger, "one", 1, seconds_from_now(9)).await.unwrap(), "{stranger:?}");
        // Theirs are counted by themselves.
        let id = format!("{tenant} {subject}");
        assert!(
            store.insert_up_to(stranger, &id, session_row("theirs"), 1, now_micros()).await.unwrap(),
            "{stranger:?}"
        );
        assert_eq!(store.load(ANN, &id).await.unwrap(), None, "{stranger:?}");
    }
    assert_eq!(store.load(ANN, "one").await.unwrap(), kept);
}

async fn missing_sessions_are_not_changed(StoreReplicas { replicas: [store, _], .. }: StoreReplicas) {
    assert!(
        store.insert_up_to(ANN, "one", session_row("first"), HIGH_SESSION_LIMIT, now_micros()).await.unwrap()
    );
    for id in ["two", "ONE", "one ", "%", "o_e"] {
        assert_eq!(store.load(ANN, id).await.unwrap(), None, "{id}");
        assert!(!store.save(ANN, id, 1, session_row("second")).await.unwrap(), "{id}");
        assert!(!store.renew_lease(ANN, id, 1, seconds_from_now(9)).await.unwrap(), "{id}");
    }
    for version in [0, 2, -1, i64::MAX, i64::MIN] {
        assert!(!store.save(ANN, "one", version, session_row("second")).await.unwrap(), "{version}");
        assert!(!store.renew_lease(ANN, "one", version, seconds_from_now(9)).await.unwrap(), "{version}");
    }
    let (version, kept) = store.load(ANN, "one").await.unwrap().unwrap();
    assert_eq!((version, kept.leased_until, kept.body), (1, None, Some(b"first".to_vec())));
}

/// Runs as many at once, half of them at each replica, and gives the numbers of those that said `true`.
async fn run_concurrently<F>(
    stores: &StoreReplicas,
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

async fn one_of_many_concurrent_saves_succeeds(stores: StoreReplicas) {
    let store = &stores.replicas[0];
    assert!(
        store.insert_up_to(ANN, "one", session_row("first"), HIGH_SESSION_LIMIT, now_micros()).await.unwrap()
    );
    for version in 1..4 {
        let save = |store: Arc<dyn SessionStore>, number: usize| async move {
            store.save(ANN, "one", version, session_row(&format!("by {number}"))).await.unwrap()
        };
        let winners = run_concurrently(&stores, 100, save).await;
        assert_eq!(winners.len(), 1, "{winners:?}");
        let (found, kept) = store.load(ANN, "one").await.unwrap().unwrap();
        assert_eq!((found, kept.body), (version + 1, Some(format!("by {}", winners[0]).into())));
    }
}

async fn replicas_can_save_alternately(StoreReplicas { replicas, .. }: StoreReplicas) {
    assert!(
        replicas[0]
            .insert_up_to(ANN, "one", session_row("1"), HIGH_SESSION_LIMIT, now_micros())
            .await
            .unwrap()
    );
    for version in 1..=20_i64 {
        let (this, other) =
            if version % 2 == 0 { (&replicas[0], &replicas[1]) } else { (&replicas[1], &replicas[0]) };
        let (found, kept) = this.load(ANN, "one").await.unwrap().unwrap();
        assert_eq!((found, kept.body), (version, Some(version.to_string().into())));
        assert!(this.save(ANN, "one", version, session_row(&(version + 1).to_string())).await.unwrap());
        assert!(!other.save(ANN, "one", version, session_row("late")).await.unwrap());
        assert!(!other.renew_lease(ANN, "one", version, seconds_from_now(9)).await.unwrap());
    }
}

async fn concurrent_inserts_do_not_exceed_the_quota(stores: StoreReplicas) {
    let store = &stores.replicas[0];
    // The first time the connections are still to be made, and nobody is in anybody's way.
    for subject in ["ann", "bea", "cat", "dot", "eve"] {
        let owner = SessionOwner { subject, ..ANN };
        let begin = |store: Arc<dyn SessionStore>, number: usize| async move {
            store
                .insert_up_to(owner, &format!("{subject} {number}"), session_row("new"), 7, now_micros())
                .await
                .unwrap()
        };
        let winners = run_concurrently(&stores, 50, begin).await;
        assert_eq!(winners.len(), 7, "{winners:?}");
        for number in 0..50 {
            let is_there = store.load(owner, &format!("{subject} {number}")).await.unwrap().is_some();
            assert_eq!(is_there, winners.contains(&number), "{number}");
        }
        assert!(!store.insert_up_to(owner, subject, session_row("new"), 7, now_micros()).await.unwrap());
        assert!(!store.insert_up_to(owner, subject, session_row("new"), 0, now_micros()).await.unwrap());
        assert!(store.insert_up_to(owner, subject, session_row("new"), 8, now_micros()).await.unwrap());
    }
}

async fn closed_and_expired_sessions_do_not_count_as_open(
    StoreReplicas { replicas: [store, _], .. }: StoreReplicas,
) {
    let time = now_micros();
    let closed = SessionRow { is_open: false, ..session_row("closed") };
    let ended = SessionRow { expires_at: time, ..session_row("ended") };
    let ends_soon =
        SessionRow { expires_at: time + std::time::Duration::from_micros(1), ..session_row("ends soon") };
    for (id, begun) in [("closed", closed.clone()), ("ended", ended), ("ends soon", ends_soon)] {
        assert!(store.insert_up_to(ANN, id, begun, 1, time).await.unwrap(), "{id}");
    }
    assert!(
        !store.insert_up_to(ANN, "one", session_row("one"), 1, time).await.unwrap(),
        "one has not ended yet"
    );
    assert!(store.insert_up_to(ANN, "one", session_row("one"), 1, seconds_from_now(1)).await.unwrap());
    assert!(!store.insert_up_to(ANN, "two", session_row("two"), 1, seconds_from_now(1)).await.unwrap());
    assert!(store.save(ANN, "one", 1, closed).await.unwrap());
    assert!(store.insert_up_to(ANN, "two", session_row("two"), 1, seconds_from_now(1)).await.unwrap());
    assert!(store.save(ANN, "one", 2, session_row("open again")).await.unwrap());
    assert!(!store.insert_up_to(ANN, "three", session_row("three"), 2, seconds_from_now(1)).await.unwrap());
}

async fn renewing_a_lease_keeps_the_version(StoreReplicas { replicas: [store, other], .. }: StoreReplicas) {
    let leased = SessionRow { leased_until: Some(seconds_from_now(1)), ..session_row("first") };
    assert!(store.insert_up_to(ANN, "one", leased.clone(), HIGH_SESSION_LIMIT, now_micros()).await.unwrap());
    for until in [seconds_from_now(2), seconds_from_now(3), seconds_ago(7)] {
        assert!(other.renew_lease(ANN, "one", 1, until).await.unwrap());
        let renewed = SessionRow { leased_until: Some(until), ..leased.clone() };
        assert_eq!(store.load(ANN, "one").await.unwrap(), Some((1, renewed)));
    }
    assert!(store.save(ANN, "one", 1, session_row("second")).await.unwrap());
    assert!(!other.renew_lease(ANN, "one", 1, seconds_from_now(9)).await.unwrap(), "a version that is gone");
    assert_eq!(store.load(ANN, "one").await.unwrap().unwrap().1.leased_until, None);
}

const MICROSECOND: std::time::Duration = std::time::Duration::from_micros(1);

async fn sweep_removes_bodies_then_rows(StoreReplicas { replicas: [store, _], .. }: StoreReplicas) {
    let kept = session_row("kept");
    let SessionRow { expires_at: ends, delete_at: forgotten, .. } = kept;
    assert!(store.insert_up_to(ANN, "one", kept.clone(), HIGH_SESSION_LIMIT, now_micros()).await.unwrap());
    let other = SessionRow {
        expires_at: seconds_from_now(900),
        delete_at: forgotten + MICROSECOND,
        ..session_row("other")
    };
    assert!(store.insert_up_to(BOB, "two", other, HIGH_SESSION_LIMIT, now_micros()).await.unwrap());
    assert_eq!(store.sweep(ends - MICROSECOND).await.unwrap(), 0);
    assert_eq!(store.load(ANN, "one").await.unwrap(), Some((1, kept.clone())));
    assert_eq!(store.sweep(ends).await.unwrap(), 1);
    assert_eq!(store.sweep(ends).await.unwrap(), 0, "once is enough");
    let (version, swept) = store.load(ANN, "one").await.unwrap().unwrap();
    assert_eq!((version, swept.expires_at, swept.delete_at, swept.body), (1, ends, forgotten, None));
    assert!(store.load(BOB, "two").await.unwrap().unwrap().1.body.is_some());
    // Who was still at it may write it down.
    assert!(store.save(ANN, "one", 1, kept.clone()).await.unwrap());
    assert_eq!(store.load(ANN, "one").await.unwrap(), Some((2, kept)));
    assert_eq!(store.sweep(forgotten - MICROSECOND).await.unwrap(), 2, "both have ended");
    assert!(store.load(ANN, "one").await.unwrap().is_some());
    assert_eq!(store.sweep(forgotten).await.unwrap(), 1);
    assert_eq!(store.load(ANN, "one").await.unwrap(), None);
    assert!(!store.save(ANN, "one", 2, session_row("late")).await.unwrap());
    assert_eq!(store.sweep(seconds_from_now(100_000)).await.unwrap(), 1);
    // With a body or without, and whenever it ends: what is forgotten is gone.
    let odd = SessionRow { delete_at: seconds_from_now(1), ..session_row("odd") };
    assert!(store.insert_up_to(ANN, "three", odd, HIGH_SESSION_LIMIT, now_micros()).await.unwrap());
    assert_eq!(store.sweep(seconds_from_now(2)).await.unwrap(), 1);
    assert_eq!(store.load(ANN, "three").await.unwrap(), None);
}

async fn swept_open_session_does_not_count_as_open(
    StoreReplicas { replicas: [store, _], .. }: StoreReplicas,
) {
    assert!(store.insert_up_to(ANN, "one", session_row("one"), 1, now_micros()).await.unwrap());
    assert!(!store.insert_up_to(ANN, "two", session_row("two"), 1, now_micros()).await.unwrap());
    assert_eq!(store.sweep(seconds_from_now(301)).await.unwrap(), 1);
    let long = SessionRow { expires_at: seconds_from_now(1000), ..session_row("two") };
    assert!(store.insert_up_to(ANN, "two", long, 1, seconds_from_now(301)).await.unwrap());
}

/// Begins so many sessions, some at a time, and spends as many tokens. On a busy disk that takes a while.
async fn insert_sessions_and_tokens(
    store: &Arc<dyn SessionStore>,
    count: u16,
    sessions: SessionRow,
    spent: Timestamp,
) {
    let numbers: Vec<u16> = (0..count).collect();
    for some in numbers.chunks(200) {
        let begins = some.iter().copied().map(async |number| {
            let id = format!("s-{number}");
            assert!(
                store.insert_up_to(ANN, &id, sessions.clone(), u32::MAX, seconds_ago(1000)).await.unwrap()
            );
            assert!(store.mark_used(&token(number), spent).await.unwrap());
        });
        join_all(begins).await;
    }
}

fn token(number: u16) -> [u8; 32] {
    let mut token = [7; 32];
    token[..2].copy_from_slice(&number.to_le_bytes());
    token
}

async fn large_sweep_proceeds_in_batches(StoreReplicas { replicas: [store, _], .. }: StoreReplicas) {
    // All times are told from before it is filled.
    let start = now_micros();
    let at = |seconds| start + std::time::Duration::from_secs(seconds);
    insert_sessions_and_tokens(
        &store,
        1100,
        SessionRow { is_open: false, expires_at: at(20), delete_at: at(40), ..session_row("old") },
        at(50),
    )
    .await;
    assert!(store.insert_up_to(BOB, "young", session_row("young"), 1, now_micros()).await.unwrap());
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

async fn concurrent_sweeps_remove_every_row_once(stores: StoreReplicas) {
    let store = stores.replicas[0].clone();
    insert_sessions_and_tokens(
        &store,
        300,
        SessionRow { is_open: false, expires_at: seconds_ago(20), ..session_row("old") },
        seconds_from_now(90_000),
    )
    .await;
    let sweeps = (0..8).map(|number| {
        let store = stores.replicas[number % 2].clone();
        tokio::spawn(async move {
            let mut sum = 0;
            for _ in 0..5 {
                sum += store.sweep(now_micros()).await.unwrap();
            }
            sum
        })
    });
    let saves = (0..100).map(|number| {
        let store = stores.replicas[number % 2].clone();
        tokio::spawn(async move {
            store.save(ANN, &format!("s-{number}"), 1, session_row("going on")).await.unwrap()
        })
    });
    let (saves, sweeps): (Vec<_>, Vec<_>) = (saves.collect(), sweeps.collect());
    for saved in join_all(saves).await {
        assert!(saved.unwrap(), "a sweep changes no version");
    }
    let swept: u64 = join_all(sweeps).await.into_iter().map(Result::unwrap).sum::<u64>()
        + store.sweep(now_micros()).await.unwrap();
    assert!((200..=300).contains(&swept), "{swept}");
    for number in 0..300 {
        let (_, kept) = store.load(ANN, &format!("s-{number}")).await.unwrap().unwrap();
        assert_eq!(kept.body.is_some(), number < 100, "{number}");
    }
}

async fn one_of_many_concurrent_spends_succeeds(stores: StoreReplicas) {
    for number in 0..3 {
        let spend = |store: Arc<dyn SessionStore>, _| async move {
            store.mark_used(&token(number), seconds_from_now(60)).await.unwrap()
        };
        assert_eq!(run_concurrently(&stores, 50, spend).await.len(), 1);
    }
}

async fn spent_tokens_are_swept_after_their_deadline(
    StoreReplicas { replicas: [store, other], .. }: StoreReplicas,
) {
    let end = seconds_from_now(60);
    assert!(store.mark_used(&token(1), end).await.unwrap());
    assert!(store.mark_used(&token(2), end + MICROSECOND).await.unwrap());
    assert_eq!(store.sweep(end - MICROSECOND).await.unwrap(), 0);
    assert!(!other.mark_used(&token(1), end).await.unwrap());
    let spent = async |number| other.is_used(&token(number)).await.unwrap();
    assert_eq!([spent(1).await, spent(2).await, spent(3).await], [true, true, false]);
    assert_eq!(other.sweep(end).await.unwrap(), 1);
    assert_eq!([spent(1).await, spent(2).await, spent(3).await], [false, true, false]);
    assert!(other.mark_used(&token(1), end).await.unwrap());
    assert!(!store.mark_used(&token(2), end + MICROSECOND).await.unwrap());
}

async fn full_quota_reports_the_earliest_expiry(
    StoreReplicas { replicas: [store, other], .. }: StoreReplicas,
) {
    let time = now_micros();
    let at = |seconds| time + std::time::Duration::from_secs(seconds);
    let quota = |open| SessionQuota { max_open: open, ..SessionQuota::UNLIMITED };
    let closed = SessionRow { is_open: false, expires_at: at(5), ..session_row("closed") };
    let rows = [("over", 0, ANN), ("late", 70, ANN), ("soon", 30, ANN), ("later", 50, ANN), ("bob", 10, BOB)];
    assert!(store.insert(ANN, "closed", closed.clone(), quota(9), time).await.unwrap().is_admitted());
    for (id, ends, owner) in rows {
        let open = SessionRow { expires_at: at(ends), ..session_row(id) };
        assert!(store.insert(owner, id, open, quota(9), time).await.unwrap().is_admitted(), "{id}");
    }
    let begin =
        async |most, now| other.insert(ANN, "new", session_row("new"), quota(most), now).await.unwrap();
    let full = |seconds| Admission::Full { until: Some(at(seconds)) };
    assert_eq!(begin(3, time).await, full(30));
    assert_eq!(begin(1, time).await, full(30));
    assert_eq!(begin(2, at(30)).await, full(50), "that one has ended");
    assert!(store.save(ANN, "later", 1, closed).await.unwrap());
    assert_eq!(begin(1, at(30)).await, full(70));
    assert_eq!(begin(0, at(70)).await, Admission::Full { until: None });
    assert_eq!(begin(1, at(70)).await, Admission::Admitted);
}

async fn latest_ended_sessions_are_retained(StoreReplicas { replicas: [store, other], .. }: StoreReplicas) {
    let time = now_micros();
    let at = |seconds| time + std::time::Duration::from_secs(seconds);
    let closed = |ends| SessionRow { is_open: false, expires_at: at(ends), ..session_row("closed") };
    let begin = async |owner, id: &str, row, ended| {
        let quota = SessionQuota { max_open: 9, max_ended: ended };
        assert!(store.insert(owner, id, row, quota, time).await.unwrap().is_admitted(), "{id}");
    };
    // Not in the order in which they end. Some have no body any more, and whose ids begin otherwise is no session.
    for (id, ends) in [("session_a", 40), ("session_c", 20), ("session_b", 30), ("session_d", 10)] {
        begin(ANN, id, SessionRow { body: (ends > 20).then(Vec::new), ..closed(ends) }, u32::MAX).await;
    }
    for (owner, id) in
        [(ANN, "plan_a"), (ANN, "sessions"), (ANN, "Session_e"), (ANN, "sessionXf"), (BOB, "session_g")]
    {
        begin(owner, id, closed(1), u32::MAX).await;
    }
    begin(SessionOwner { tenant: "umbrella", ..ANN }, "session_h", closed(1), u32::MAX).await;
    begin(ANN, "session_open", session_row("open"), u32::MAX).await;
    let kept = async || {
        let mut kept = String::new();
        for name in ["session_a", "session_b", "session_c", "session_d", "session_new", "session_more"] {
            let is_kept = other.load(ANN, name).await.unwrap().is_some();
            kept.push_str(if is_kept { name.strip_prefix("session_").unwrap() } else { "-" });
        }
        kept
    };
    // One that is open does not count, but those are counted when it is begun.
    begin(ANN, "session_new", session_row("new"), 3).await;
    assert_eq!(kept().await, "abc-new-");
    begin(ANN, "plan_b", closed(0), 2).await;
    assert_eq!(kept().await, "ab--new-");
    // One that is closed from the beginning counts at once.
    begin(ANN, "session_more", closed(35), 2).await;
    assert_eq!(kept().await, "a---newmore");
    let full = SessionQuota { max_open: 0, max_ended: 0 };
    assert!(!store.insert(ANN, "session_none", session_row(""), full, time).await.unwrap().is_admitted());
    assert_eq!(kept().await, "a---newmore", "who is refused changes nothing");
    begin(ANN, "session_last", session_row(""), 0).await;
    assert_eq!(kept().await, "----new-");
    for id in ["plan_a", "plan_b", "sessions", "Session_e", "sessionXf", "session_open"] {
        assert!(other.load(ANN, id).await.unwrap().is_some(), "{id}");
    }
    assert!(other.load(BOB, "session_g").await.unwrap().is_some(), "others are not concerned");
    assert!(other.load(SessionOwner { tenant: "umbrella", ..ANN }, "session_h").await.unwrap().is_some());
}

async fn expired_open_sessions_count_as_ended(StoreReplicas { replicas: [store, other], .. }: StoreReplicas) {
    let time = now_micros();
    let at = |seconds| time + std::time::Duration::from_secs(seconds);
    let begin = async |id: &str, ends, now| {
        let quota = SessionQuota { max_open: 9, max_ended: 2 };
        let open = SessionRow { expires_at: at(ends), ..session_row(id) };
        assert!(store.insert(ANN, id, open, quota, at(now)).await.unwrap().is_admitted(), "{id}");
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
