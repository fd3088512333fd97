"""The tokenizer of BERT (uncased), which the teacher needs: clean, lower-case, strip accents, split, longest match."""
import unicodedata

MAX_WORD = 100  # characters; longer words are unknown, as in the original
CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
       (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


def is_cjk(char):
    return any(low <= ord(char) <= high for low, high in CJK)


def is_punctuation(char):
    # All of ASCII's symbols count, also those that Unicode calls symbols, such as $ + < = > ^ ` | ~.
    return (char.isascii() and 33 <= ord(char) <= 126 and not char.isalnum()) or unicodedata.category(char)[0] == "P"


def normalise(text):
    """Lower-cased text without accents and invisible characters, with ideographs set apart."""
    out = []
    for char in text:
        if char in "\t\n\r" or unicodedata.category(char) == "Zs":
            out.append(" ")
        elif char in "\0\ufffd" or unicodedata.category(char)[0] == "C":
            continue
        elif is_cjk(char):
            out.append(f" {char} ")
        else:
            out.append(char)
    plain = unicodedata.normalize("NFD", "".join(out))
    return "".join(char for char in plain if unicodedata.category(char) != "Mn").lower()


def words(text):
    """Splits at white space; every punctuation mark is a word of its own."""
    for run in normalise(text).split():
        start = 0
        for i, char in enumerate(run):
            if is_punctuation(char):
                if start < i:
                    yield run[start:i]
                yield char
                start = i + 1
        if start < len(run):
            yield run[start:]


class WordPiece:
    """Cuts words into pieces of `vocab` (piece -> id), the longest first."""

    def __init__(self, vocab):
        self.vocab = vocab
        self.longest = max(map(len, vocab))
        self.unknown = (vocab["[UNK]"],) if "[UNK]" in vocab else ()
        self.seen = {}

    def cut(self, word):
        ids, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + self.longest), start, -1):
                if mark + word[start:end] in self.vocab:
                    break
            else:
                return self.unknown
            ids.append(self.vocab[mark + word[start:end]])
            start = end
        return tuple(ids)

    def ids_of(self, word):
        """The ids of a word's pieces. One that cannot be cut is `[UNK]`, or nothing if the vocabulary lacks that."""
        if word not in self.seen:
            self.seen[word] = self.cut(word) if len(word) <= MAX_WORD else self.unknown
        return self.seen[word]

    def ids(self, text):
        return [i for word in words(text) for i in self.ids_of(word)]
