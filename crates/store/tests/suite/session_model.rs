//! Sessions in SQLite against those in memory: whatever is done, both say the same.

use std::time::Duration;

use flow::session::{Memory, Owner, Quota, Row, SessionStore};
use jiff::Timestamp;
use proptest::prelude::*;
use store::Options;

/// What is done, at a clock that only goes on. Numbers stand for owners, sessions and tokens.
#[derive(Clone, Debug)]
enum Deed {
    Begin { owner: usize, row: Draft, quota: Quota },
    Load { owner: usize, id: usize },
    Save { owner: usize, id: usize, version: i64, row: Draft },
    Renew { owner: usize, id: usize, version: i64, lease: u64 },
    Spend { token: u8 },
    IsSpent { token: u8 },
    Sweep,
    Wait(u64),
}

/// A row whose times are seconds from now.
#[derive(Clone, Debug)]
struct Draft {
    is_open: bool,
    ends: u64,
    forgotten: u64,
    leased: Option<u64>,
    body: Option<Vec<u8>>,
}

const OWNERS: [Owner<'_>; 3] = [
    Owner { tenant: "acme", subject: "ann" },
    Owner { tenant: "acme", subject: "bob" },
    Owner { tenant: "umbrella", subject: "ann" },
];

fn drafts() -> impl Strategy<Value = Draft> {
    let body = prop::option::weighted(0.8, prop::collection::vec(any::<u8>(), 0..20));
    (prop::bool::weighted(0.7), 0..9_u64, 0..15_u64, prop::option::of(0..5_u64), body)
        .prop_map(|(is_open, ends, forgotten, leased, body)| Draft { is_open, ends, forgotten, leased, body })
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let owner = || prop_oneof![4 => Just(0_usize), 1 => 1..3_usize];
    let deed = prop_oneof![
        4 => (owner(), drafts(), 0..5_u32, prop_oneof![0..3_u32, Just(u32::MAX)]).prop_map(|(owner, row, open, ended)| {
            Deed::Begin { owner, row, quota: Quota { open, ended } }
        }),
        3 => (owner(), 0..6_usize).prop_map(|(owner, id)| Deed::Load { owner, id }),
        6 => (owner(), 0..6_usize, 0..4_i64, drafts())
            .prop_map(|(owner, id, version, row)| Deed::Save { owner, id, version, row }),
        2 => (owner(), 0..6_usize, 0..4_i64, 0..5_u64)
            .prop_map(|(owner, id, version, lease)| Deed::Renew { owner, id, version, lease }),
        2 => (0..3_u8).prop_map(|token| Deed::Spend { token }),
        1 => (0..3_u8).prop_map(|token| Deed::IsSpent { token }),
        3 => Just(Deed::Sweep),
        3 => (0..6_u64).prop_map(Deed::Wait),
    ];
    prop::collection::vec(deed, 1..60)
}

/// One store, and how often sessions were begun: each gets an id of its own.
struct Scene<'a> {
    store: &'a dyn SessionStore,
    begun: usize,
    now: Timestamp,
}

fn start() -> Timestamp {
    Timestamp::from_microsecond(1_900_000_000_000_000).unwrap()
}

impl<'a> Scene<'a> {
    fn new(store: &'a dyn SessionStore) -> Self {
        Self { store, begun: 0, now: start() }
    }

    fn row(&self, draft: &Draft) -> Row {
        let at = |seconds| self.now + Duration::from_secs(seconds);
        let Draft { is_open, ends, forgotten, leased, body } = draft.clone();
        Row { is_open, ends: at(ends), forgotten: at(forgotten), leased_until: leased.map(at), body }
    }

    /// What the store says to it.
    async fn play(&mut self, deed: &Deed) -> String {
        // Every third is a document and no session.
        let name = |id: usize| format!("{}_{id}", if id % 3 == 2 { "plan" } else { "session" });
        match deed {
            Deed::Begin { owner, row, quota } => {
                self.begun += 1;
                let id = name(self.begun - 1);
                let answer = self.store.begin(OWNERS[*owner], &id, self.row(row), *quota, self.now).await;
                format!("{:?}", answer.unwrap())
            }
            Deed::Load { owner, id } => {
                let mut found = self.store.load(OWNERS[*owner], &name(*id)).await.unwrap();
                // Nobody asks whether what has ended and was swept is open.
                if let Some((_, row)) = &mut found {
                    row.is_open &= row.body.is_some() || row.ends > self.now;
                }
                format!("{found:?}")
            }
            Deed::Save { owner, id, version, row } => {
                let answer = self.store.save(OWNERS[*owner], &name(*id), *version, self.row(row)).await;
                answer.unwrap().to_string()
            }
            Deed::Renew { owner, id, version, lease } => {
                let until = self.now + Duration::from_secs(*lease);
                self.store.renew(OWNERS[*owner], &name(*id), *version, until).await.unwrap().to_string()
            }
            Deed::Spend { token } => {
                // When a token can be forgotten is known from the token.
                let end = start() + Duration::from_secs(10 * u64::from(*token));
                self.store.spend(&[*token; 32], end).await.unwrap().to_string()
            }
            Deed::IsSpent { token } => self.store.is_spent(&[*token; 32]).await.unwrap().to_string(),
            Deed::Sweep => self.store.sweep(self.now).await.unwrap().to_string(),
            Deed::Wait(seconds) => {
                self.now += Duration::from_secs(*seconds);
                String::new()
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_keeps_sessions_as_the_memory_does(deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let sqlite = store::open(&"sqlite::memory:".parse().unwrap(), &Options::default()).await.unwrap();
            let memory = Memory::default();
            let (mut one, mut other) = (Scene::new(&*sqlite), Scene::new(&memory));
            for (number, deed) in deeds.iter().enumerate() {
                assert_eq!(one.play(deed).await, other.play(deed).await, "{number}: {deed:?}");
            }
        });
    }
}
