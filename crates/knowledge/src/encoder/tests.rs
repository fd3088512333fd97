use proptest::prelude::*;

use super::*;
use crate::bytes::append_u32s;

/// Writes a table of tokens with their vectors, which must be sorted.
fn table_bytes<const N: usize>(tokens: &[(&str, [i8; N])]) -> Vec<u8> {
    let blob: String = tokens.iter().map(|(token, _)| *token).collect();
    let mut bytes = b"FXTOKEN1".to_vec();
    let size = |size: usize| u32::try_from(size).unwrap();
    append_u32s(&mut bytes, &[size(tokens.len()), size(N), size(blob.len()), 0]);
    let mut end = 0;
    append_u32s(&mut bytes, &[0]);
    for (token, _) in tokens {
        end += size(token.len());
        append_u32s(&mut bytes, &[end]);
    }
    bytes.extend(blob.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    append_u32s(&mut bytes, &vec![1.0_f32.to_bits(); tokens.len()]);
    bytes.extend(tokens.iter().flat_map(|(_, row)| row).map(|number| number.cast_unsigned()));
    bytes
}

fn small_table() -> Vec<u8> {
    table_bytes(&[
        ("##able", [0, 0, 1, 1]),
        ("##s", [0, 0, 1, 0]),
        ("cat", [9, 0, 0, 0]),
        ("catapult", [0, 9, 0, 0]),
        ("dog", [0, 0, 0, 9]),
        ("é", [1, 1, 1, 1]),
    ])
}

/// An encoder that knows no word, so that only terms count.
pub(crate) fn empty_encoder() -> Encoder {
    Encoder::new(table_bytes::<4>(&[])).unwrap()
}

/// An encoder that knows every word of Latin letters by its spelling: enough for tests of what is made of vectors.
pub(crate) fn spelling_encoder() -> Encoder {
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    let row = |at: usize, shift: usize| {
        std::array::from_fn::<i8, 16, _>(|dim| i8::from((at + shift) % 16 == dim) * 100)
    };
    let later = letters.iter().enumerate().map(|(at, decoded)| (format!("##{decoded}"), row(at, 5)));
    let first = letters.iter().enumerate().map(|(at, decoded)| (decoded.clone(), row(at, 0)));
    let tokens: Vec<_> = later.chain(first).collect();
    let tokens: Vec<_> = tokens.iter().map(|(token, row)| (token.as_str(), *row)).collect();
    Encoder::new(table_bytes(&tokens)).unwrap()
}

#[test]
fn words_are_tokenized_longest_first() {
    let encoder = Encoder::new(small_table()).unwrap();
    let check = |word, expected: &[u32]| {
        assert_eq!(*wordpiece::tokenize_word(&encoder.table, word), *expected, "{word}");
    };
    check("cat", &[2]);
    check("cats", &[2, 1]);
    check("catapult", &[3]);
    check("catapults", &[3, 1]);
    check("catable", &[2, 0]);
    check("cata", &[]);
    check("s", &[]);
    check("", &[]);
    check("bird", &[]);
}

#[test]
fn text_is_split_like_the_model() {
    let check = |text, expected: &str| {
        let mut words = Vec::new();
        wordpiece::for_each_word(text, |word| words.push(word.to_owned()));
        assert_eq!(words.join(" "), expected, "{text}");
    };
    check("Cats, DOGS", "cats , dogs");
    check("max_retries=3", "max _ retries = 3");
    check("Café", "cafe");
    check("東京 a", "東 京 a");
}

#[test]
fn vectors_follow_their_tokens() {
    let encoder = Encoder::new(small_table()).unwrap();
    let encode = |text| encoder.encode_weighted(text, |_| 1.0);
    let cat = encode("cat");
    assert_eq!(cat.vector.numbers, [127, 0, 0, 0]);
    assert_eq!(cat.known_share.to_bits(), 1.0_f32.to_bits());
    assert_eq!(encode("cat bird").known_share.to_bits(), 0.5_f32.to_bits());
    assert_eq!(encode("bird").vector.scale.to_bits(), 0.0_f32.to_bits());
    let leaning = encoder.encode_weighted("cat dog", |word| if word == "dog" { 2.0 } else { 1.0 }).vector;
    assert_eq!(leaning.numbers, [64, 0, 0, 127], "a word counts by its weight");
    let both = encoder.session().encode([("cat cat cat", 1.0), ("dog", 1.0)]).vector;
    assert_eq!(both.numbers, [127, 0, 0, 127], "each text counts by its weight and not by its length");
}

/// The Python that made the table wrote `reference.json`: texts, their tokens and their vectors.
#[test]
fn shipped_table_matches_reference() {
    let reference: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("../../model/reference.json")).unwrap();
    assert!(reference.len() > 20);
    let encoder = crate::shipped::encoder();
    for entry in &reference {
        let text = entry["text"].as_str().unwrap();
        let expected = |key: &str| -> Vec<i64> {
            entry[key].as_array().unwrap().iter().map(|number| number.as_i64().unwrap()).collect()
        };
        let mut tokens = Vec::new();
        wordpiece::for_each_word(text, |word| {
            tokens
                .extend(wordpiece::tokenize_word(&encoder.table, word).iter().map(|token| i64::from(*token)));
        });
        assert_eq!(tokens, expected("ids"), "{text}");

        let vector = encoder.encode_weighted(text, |_| 1.0).vector;
        let wanted: Vec<i8> = expected("vector").into_iter().map(|x| i8::try_from(x).unwrap()).collect();
        let length: f32 = wanted.iter().map(|x| f32::from(*x).powi(2)).sum::<f32>().sqrt();
        if length > 0.0 {
            let bytes: Vec<u8> = wanted.iter().map(|x| x.cast_unsigned()).collect();
            let cosine = vector::QueryVector::from(&vector).cosine(&bytes, length.recip());
            assert!(cosine > 0.999, "{text}: {cosine}");
        } else {
            assert_eq!(vector.numbers, wanted, "{text}");
        }
    }
}

#[test]
fn cosines_are_exact_for_any_length() {
    for length in [1, 31, 32, 33, 64, 100] {
        let numbers: Vec<f32> = (0..length).map(|x| f32::from(u8::try_from(x % 11).unwrap()) - 5.0).collect();
        let vector = QuantizedVector::quantize(&numbers);
        let bytes: Vec<u8> = vector.numbers.iter().map(|x| x.cast_unsigned()).collect();
        let cosine = vector::QueryVector::from(&vector).cosine(&bytes, vector.scale);
        assert!((cosine - 1.0).abs() < 1e-5, "{length}: {cosine}");
    }
}

#[test]
fn invalid_table_is_rejected() {
    let error = |bytes: Vec<u8>| Encoder::new(bytes).err().unwrap();
    assert_eq!(error(b"something else".to_vec()), TokenTableError::NotATable);
    let whole = small_table();
    let found = whole.len() as u64 - 1;
    assert_eq!(
        error(whole[..whole.len() - 1].to_vec()),
        TokenTableError::WrongSize { expected: found + 1, found }
    );
    let mut wide = whole.clone();
    wide[12..16].copy_from_slice(&5000_u32.to_le_bytes());
    assert_eq!(error(wide), TokenTableError::WrongDims(5000));
    let mut backwards = whole;
    backwards[28] = 200;
    assert_eq!(error(backwards), TokenTableError::Damaged("offsets"));
}

proptest! {
    #[test]
    fn arbitrary_table_does_not_panic(at in 0_usize..150, byte: u8, cut in 0_usize..150, text in "(cat|s|able|\\PC){0,20}") {
        let mut bytes = small_table();
        if let Some(slot) = bytes.get_mut(at) {
            *slot = byte;
        }
        bytes.truncate(bytes.len().min(cut + 50));
        if let Ok(encoder) = Encoder::new(bytes) {
            encoder.encode_weighted(&text, |_| 1.0);
        }
    }
}
