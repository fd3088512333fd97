"""The tokenizer of BERT (uncased): clean, lower-case, strip accents, split, longest match first."""
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
    """Cuts texts into pieces of `vocab` (piece -> id). A word that cannot be cut is `unknown`."""

    def __init__(self, vocab, unknown="[UNK]"):
        self.vocab = vocab
        self.unknown = unknown
        self.longest = max(map(len, vocab))
        self.seen = {}

    def pieces_of(self, word):
        if len(word) > MAX_WORD:
            return (self.unknown,)
        pieces, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + self.longest), start, -1):
                if mark + word[start:end] in self.vocab:
                    break
            else:
                return (self.unknown,)
            pieces.append(mark + word[start:end])
            start = end
        return tuple(pieces)

    def pieces(self, text):
        out = []
        for word in words(text):
            found = self.seen.get(word)
            if found is None:
                found = self.seen[word] = self.pieces_of(word)
            out.extend(found)
        return out

    def ids(self, text):
        """The ids of the pieces; a piece without an id (as `unknown` in our table) is left out."""
        return [self.vocab[piece] for piece in self.pieces(text) if piece in self.vocab]
