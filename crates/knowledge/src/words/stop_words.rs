//! Words that stand in every question and in no answer.

/// Sorted, for the search in it. Few: a word that could be what is asked for (`all`, `not`, `off`) is not here.
const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could",
    "did", "do", "does", "doing", "don", "for", "from", "had", "has", "have", "having", "he", "her", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "may", "me", "might", "my", "of", "on", "or",
    "our", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "too", "us", "very", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your",
];

pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::STOP_WORDS;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}
