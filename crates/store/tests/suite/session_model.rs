//! Sessions in SQLite against those in memory: whatever is done, both say the same.

use std::time::Duration;

use flow::session::{MemorySessionStore, SessionOwner, SessionQuota, SessionRow, SessionStore};
use jiff::Timestamp;
use proptest::prelude::*;
use store::StoreOptions;

/// What is done, at a clock that only goes on. Numbers stand for owners, sessions and tokens.
#[derive(Clone, Debug)]
enum SessionStoreOp {
    Insert { owner: usize, row: RelativeRow, quota: SessionQuota },
    Load { owner: usize, id: usize },
    Save { owner: usize, id: usize, version: i64, row: RelativeRow },
    Renew { owner: usize, id: usize, version: i64, lease: u64 },
    Spend { token: u8 },
    IsSpent { token: u8 },
    Sweep,
    AdvanceClock(u64),
}

/// A row whose times are seconds from now.
#[derive(Clone, Debug)]
struct RelativeRow {
    is_open: bool,
    ends: u64,
    forgotten: u64,
    leased: Option<u64>,
    body: Option<Vec<u8>>,
}

const OWNERS: [SessionOwner<'_>; 3] = [
    SessionOwner { tenant: "acme", subject: "ann" },
    SessionOwner { tenant: "acme", subject: "bob" },
    SessionOwner { tenant: "umbrella", subject: "ann" },
];

fn arbitrary_row() -> impl Strategy<Value = RelativeRow> {
    let body = prop::option::weighted(0.8, prop::collection::vec(any::<u8>(), 0..20));
    (prop::bool::weighted(0.7), 0..9_u64, 0..15_u64, prop::option::of(0..5_u64), body).prop_map(
        |(is_open, ends, forgotten, leased, body)| RelativeRow { is_open, ends, forgotten, leased, body },
    )
}

fn arbitrary_ops() -> impl Strategy<Value = Vec<SessionStoreOp>> {
    let owner = || prop_oneof![4 => Just(0_usize), 1 => 1..3_usize];
    let deed = prop_oneof![
        4 => (owner(), arbitrary_row(), 0..5_u32, prop_oneof![0..3_u32, Just(u32::MAX)]).prop_map(|(owner, row, open, ended)| {
            SessionStoreOp::Insert { owner, row, quota: SessionQuota { max_open: open, max_ended: ended } }
        }),
        3 => (owner(), 0..6_usize).prop_map(|(owner, id)| SessionStoreOp::Load { owner, id }),
        6 => (owner(), 0..6_usize, 0..4_i64, arbitrary_row())
            .prop_map(|(owner, id, version, row)| SessionStoreOp::Save { owner, id, version, row }),
        2 => (owner(), 0..6_usize, 0..4_i64, 0..5_u64)
            .prop_map(|(owner, id, version, lease)| SessionStoreOp::Renew { owner, id, version, lease }),
        2 => (0..3_u8).prop_map(|token| SessionStoreOp::Spend { token }),
        1 => (0..3_u8).prop_map(|token| SessionStoreOp::IsSpent { token }),
        3 => Just(SessionStoreOp::Sweep),
        3 => (0..6_u64).prop_map(SessionStoreOp::AdvanceClock),
    ];
    prop::collection::vec(deed, 1..60)
}

/// One store, and how often sessions were begun: each gets an id of its own.
struct SessionStoreRun<'a> {
    store: &'a dyn SessionStore,
    inserted: usize,
    now: Timestamp,
}

fn start_time() -> Timestamp {
    Timestamp::from_microsecond(1_900_000_000_000_000).unwrap()
}

impl<'a> SessionStoreRun<'a> {
    fn new(store: &'a dyn SessionStore) -> Self {
        Self { store, inserted: 0, now: start_time() }
    }

    fn row(&self, draft: &RelativeRow) -> SessionRow {
        let at = |seconds| self.now + Duration::from_secs(seconds);
        let RelativeRow { is_open, ends, forgotten, leased, body } = draft.clone();
        SessionRow {
            is_open,
            expires_at: at(ends),
            delete_at: at(forgotten),
            leased_until: leased.map(at),
            body,
        }
    }

    /// What the store says to it.
    async fn apply_op(&mut self, deed: &SessionStoreOp) -> String {
        // Every third is a document and no session.
        let name = |id: usize| format!("{}_{id}", if id % 3 == 2 { "plan" } else { "session" });
        match deed {
            SessionStoreOp::Insert { owner, row, quota } => {
                self.inserted += 1;
                let id = name(self.inserted - 1);
                let answer = self.store.insert(OWNERS[*owner], &id, self.row(row), *quota, self.now).await;
                format!("{:?}", answer.unwrap())
            }
            SessionStoreOp::Load { owner, id } => {
                let mut found = self.store.load(OWNERS[*owner], &name(*id)).await.unwrap();
                // Nobody asks whether what has ended and was swept is open.
                if let Some((_, row)) = &mut found {
                    row.is_open &= row.body.is_some() || row.expires_at > self.now;
                }
                format!("{found:?}")
            }
            SessionStoreOp::Save { owner, id, version, row } => {
                let answer = self.store.save(OWNERS[*owner], &name(*id), *version, self.row(row)).await;
                answer.unwrap().to_string()
            }
            SessionStoreOp::Renew { owner, id, version, lease } => {
                let until = self.now + Duration::from_secs(*lease);
                self.store.renew_lease(OWNERS[*owner], &name(*id), *version, until).await.unwrap().to_string()
            }
            SessionStoreOp::Spend { token } => {
                // When a token can be forgotten is known from the token.
                let end = start_time() + Duration::from_secs(10 * u64::from(*token));
                self.store.mark_used(&[*token; 32], end).await.unwrap().to_string()
            }
            SessionStoreOp::IsSpent { token } => self.store.is_used(&[*token; 32]).await.unwrap().to_string(),
            SessionStoreOp::Sweep => self.store.sweep(self.now).await.unwrap().to_string(),
            SessionStoreOp::AdvanceClock(seconds) => {
                self.now += Duration::from_secs(*seconds);
                String::new()
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_sessions_match_the_memory_store(deeds in arbitrary_ops()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let sqlite = store::open(&"sqlite::memory:".parse().unwrap(), &StoreOptions::default()).await.unwrap();
            let memory = MemorySessionStore::default();
            let (mut one, mut other) = (SessionStoreRun::new(&*sqlite), SessionStoreRun::new(&memory));
            for (number, deed) in deeds.iter().enumerate() {
                assert_eq!(one.apply_op(deed).await, other.apply_op(deed).await, "{number}: {deed:?}");
            }
        });
    }
}
