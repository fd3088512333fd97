use proptest::prelude::*;

use super::*;

fn key(text: &str) -> OrderKey {
    OrderKey::parse(text).unwrap()
}

#[test]
fn key_between_two_neighbours() {
    for (left, right, expected) in [
        (None, None, Some("a0")),
        (Some("a0"), None, Some("a1")),
        (Some("az"), None, Some("b00")),
        (Some("bzz"), None, Some("c000")),
        (Some("Zz"), None, Some("a0")),
        (Some("Yzz"), None, Some("Z0")),
        (Some("a0V"), None, Some("a1")),
        (None, Some("a0"), Some("Zz")),
        (None, Some("Z0"), Some("Yzz")),
        (None, Some("b00"), Some("az")),
        (None, Some("a0V"), Some("a0")),
        (Some("a0"), Some("a1"), Some("a0V")),
        (Some("a0"), Some("a0V"), Some("a0F")),
        (Some("a0"), Some("a2"), Some("a1")),
        (Some("a0"), Some("a1V"), Some("a1")),
        (Some("a0"), Some("a01"), Some("a00V")),
        (Some("a0y"), Some("a1"), Some("a0z")),
        (Some("a0z"), Some("a1"), Some("a0zV")),
        (Some("a01"), Some("a02"), Some("a01V")),
        (Some("a01"), Some("a02V"), Some("a02")),
        (Some("a1"), Some("a0"), None),
        (Some("a0"), Some("a0"), None),
    ] {
        let found = OrderKey::between(left.map(key).as_ref(), right.map(key).as_ref());
        assert_eq!(found, expected.map(key), "{left:?} {right:?}");
    }
}

#[test]
fn invalid_keys_are_rejected() {
    for bad in ["", "a", "0", "a00", "a0V0", "b0", "a0-", "ä0", "a0\0", &format!("a0{}", "1".repeat(63))] {
        assert!(OrderKey::parse(bad).is_err(), "{bad}");
    }
    for good in ["a0", "Zz", "b00", "a01", &format!("a0{}", "1".repeat(62))] {
        assert!(OrderKey::parse(good).is_ok(), "{good}");
    }
}

#[test]
fn appended_keys_stay_short() {
    let keys = evenly_spaced_keys(20_000);
    assert!(keys.is_sorted() && keys.iter().all(|key| key.as_str().len() <= 4));
    let mut front = OrderKey::first();
    for _ in 0..20_000 {
        front = OrderKey::between(None, Some(&front)).unwrap();
    }
    assert!(front.as_str().len() <= 4);
}

#[test]
fn repeated_insertion_at_one_position_eventually_runs_out_of_keys() {
    let (left, mut right) = (key("a0"), key("a1"));
    let mut put = 0;
    while let Some(next) = OrderKey::between(Some(&left), Some(&right)) {
        right = next;
        put += 1;
    }
    assert!(put > 300 && right.as_str().len() == MAX_KEY_BYTES, "{put}");
}

proptest! {
    #[test]
    fn any_sequence_of_insertions_keeps_the_order(spots in prop::collection::vec(any::<prop::sample::Index>(), 1..300)) {
        let mut keys: Vec<OrderKey> = Vec::new();
        for spot in spots {
            let at = spot.index(keys.len() + 1);
            let left = at.checked_sub(1).map(|at| &keys[at]);
            let new = OrderKey::between(left, keys.get(at)).unwrap();
            prop_assert_eq!(&OrderKey::parse(new.as_str()), &Ok(new.clone()));
            keys.insert(at, new);
        }
        prop_assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn keys_between_are_ordered_and_inside_the_bounds(count in 0_usize..200, left in 0_usize..40, right in 0_usize..40) {
        let keys = evenly_spaced_keys(40);
        let (left, right) = (keys.get(left), keys.get(right));
        match keys_between(left, right, count) {
            Some(new) => {
                prop_assert_eq!(new.len(), count);
                let all: Vec<_> = left.into_iter().chain(&new).chain(right).collect();
                prop_assert!(count == 0 || all.windows(2).all(|pair| pair[0] < pair[1]));
            }
            None => prop_assert!(left >= right),
        }
    }
}
