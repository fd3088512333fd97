"""Cuts the documentation of sources.tsv into short texts: headings, questions, sentences, paragraphs, sections.

They are what the table is trained on. Users write questions and documents are cut into passages, so both must be there.
"""
import ast
import gzip
import hashlib
import html.parser
import json
import random
import re
import warnings

from files import WORK, write_whole
from sources import fetch, members, sources

# What the tables are measured on, and its subject, stays out of the training.
HELD_OUT = re.compile(r"kubernetes|kubectl|kubelet|\bk8s\b|cranfield", re.I)
NOT_PROSE = re.compile(r"(?i)(changelog|changes|history|whats[-_ ]?new|release|news|licen[cs]e|copying|authors|credits|"
                       r"contributors|genindex|search\.html|requirements|/_?templates?/|/tests?/|/locale/|toc\.)")
DOCUMENTATION = re.compile(r"(?i)(^|/)(docs?[^/]*|documentation|tutorials?|examples?)/")
MOST_FILES = 300  # of one package: some have thousands of generated pages
# A source offers its share of OFFERED, so that a large manual does not crowd out the others; WANTED are drawn from all.
OFFERED = {"heading": 16_000, "question": 9_000, "sentence": 22_000, "paragraph": 46_000, "section": 9_000}
WANTED = {"heading": 14_000, "question": 9_000, "sentence": 26_000, "paragraph": 42_000, "section": 5_000}
TEMPLATES = ("how to {}", "how do I {}?", "what is {}?", "{} not working", "why use {}?", "where is {} explained?")


def draw(*key):
    """A number in 0..1 that depends on the key alone: the same text is drawn on every machine."""
    return int.from_bytes(hashlib.sha256("\0".join(key).encode()).digest()[:8], "big") / 2 ** 64


def sentences(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(text.split()))


# --- One document: a list of (heading, [paragraph, ...]) ---

class Page(html.parser.HTMLParser):
    """Gathers the sections of an HTML page; code, menus and the like are left out."""

    BLOCKS = {"p", "li", "dd", "dt", "td", "div", "section", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"}
    SKIPPED = {"script", "style", "pre", "nav", "head", "footer", "button"}

    def __init__(self):
        super().__init__()
        self.sections, self.text, self.depth, self.heading = [("", [])], [], 0, False

    def flush(self):
        text = " ".join("".join(self.text).split()).replace("¶", "")
        self.text = []
        if text and self.heading:
            self.sections.append((text, []))
        elif text:
            self.sections[-1][1].append(text)

    def handle_starttag(self, tag, attrs):
        if tag in self.SKIPPED:
            self.depth += 1
        elif tag in self.BLOCKS:
            self.flush()
            self.heading = tag[0] == "h"

    def handle_endtag(self, tag):
        if tag in self.SKIPPED:
            self.depth = max(0, self.depth - 1)
        elif tag in self.BLOCKS:
            self.flush()
            self.heading = False

    def handle_data(self, data):
        if not self.depth:
            self.text.append(data)


def html_sections(text):
    page = Page()
    page.feed(text)
    page.flush()
    return page.sections


UNDERLINE = re.compile(r"([=\-~^\"'#*+.`_:])\1{2,}\s*")


def plain(text):
    """Running text without the marks of reStructuredText and Markdown."""
    text = re.sub(r":[\w:+-]+:`~?!?([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", text)
    text = re.sub(r"`([^`<]+?)\s*<[^`>]*>`__?", r"\1", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\|[^|\s]+\||\[[^\]]*\]_|<[^<>\s][^<>]*>", "", text)
    text = re.sub(r"`{1,2}([^`]*)`{1,2}_{0,2}|\*{1,2}([^*\s][^*]*)\*{1,2}", lambda m: m[1] or m[2], text)
    return " ".join(text.split())


def marked_sections(text):
    """Sections of a text in reStructuredText or Markdown; directives, tables and code are left out."""
    text = re.sub(r"(?ms)^(```|~~~).*?^\1\s*$|^---\n.*?^---\n", "", text)
    sections, block = [("", [])], []
    lines = text.expandtabs().split("\n") + [""]
    skipping = None  # the indent of a directive whose body is passed over

    def close():
        if block:
            sections[-1][1].append(plain(re.sub(r"^\s*([-*+•]|\d+[.)]|#\.)\s+", "", " ".join(block))))
            block.clear()

    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if skipping is not None and line.strip() and indent <= skipping:
            skipping = None
        if not line.strip():
            close()
        elif skipping is not None:
            continue
        elif line.lstrip().startswith((".. ", "::", ">>>", ":orphan:", ":::")) or (indent >= 4 and not block):
            close()
            skipping = indent if line.lstrip().startswith("..") else indent - 1
        elif match := re.match(r"#{1,6} +(.+?)[ #]*(\{.*\})?$", line):
            close()
            sections.append((plain(match[1]), []))
        elif UNDERLINE.fullmatch(line) and block and len(line.rstrip()) >= len(block[-1].rstrip()):
            heading = plain(block.pop())
            close()
            sections.append((heading, []))
        elif UNDERLINE.fullmatch(line) or re.match(r"\s*([|+].*[|+]|:[\w ]+:.*)$", line):
            close()
        else:
            if re.match(r"\s*([-*+•]|\d+[.)]|#\.)\s", line):
                close()
            block.append(line)
            if line.rstrip().endswith("::"):
                close()
                skipping = indent
    return sections


# --- Sources that are not documentation ---

def wordnet(files):
    """One text for each synset: its words and the gloss."""
    for path, data in files:
        if "/data." in path:
            for line in data.decode("latin-1").split("\n"):
                if line[:1].isdigit() and " | " in line:
                    head, gloss = line.split(" | ", 1)
                    fields = head.split(" ")
                    names = [fields[4 + 2 * i].replace("_", " ") for i in range(int(fields[3], 16))]
                    word = ", ".join(re.sub(r"\(\w+\)$", "", name) for name in names[:3])
                    meaning = gloss.split('; "')[0].strip()
                    yield word, [f"{word}: {meaning}"]


def dictionary(files):
    """The entries of a dict.org database: a head word at the margin, its text indented."""
    for path, data in files:
        if path.endswith(".dict.dz"):
            for entry in re.split(r"\n(?=\S)", gzip.decompress(data).decode("utf-8", "replace")):
                head, _, body = entry.partition("\n")
                yield head.strip(" :"), [" ".join(part.split()) for part in body.split("\n\n")]


def speeches(files):
    """Running text in JSON files, three sentences at a time."""
    for path, data in files:
        if re.search(r"/data/.*\.json$", path):
            content = json.loads(data)
            found = sentences(content["text"]) if "text" in content else []
            yield "", [" ".join(found[i:i + 3]) for i in range(0, len(found), 3)]


def conversations(files):
    """The English questions and answers of a corpus in YAML."""
    for path, data in files:
        if "/english/" in path and path.endswith((".yml", ".yaml")):
            for question, answer in re.findall(r"^ *- - (.+)\n *- (.+)$", data.decode(), re.M):
                yield question.strip("'\" "), [answer.strip("'\" ")]


def codes(files):
    """The descriptions in a table of codes."""
    for path, data in files:
        if path.endswith(".xml"):
            for text in re.findall(r"<desc>([^<]+)</desc>", data.decode("utf-8", "replace")):
                yield "", [text]


def is_document(path):
    return re.search(r"\.(rst|md|txt|x?html)$", path) and DOCUMENTATION.search(path) and not NOT_PROSE.search(path)


def documents(files):
    files = {path: data for path, data in files if is_document(path)}
    for path in sorted(files, key=draw)[:MOST_FILES]:
        text = files[path].decode("utf-8", "replace")
        yield from (html_sections if path.endswith("html") else marked_sections)(text)


def docstrings(files):
    """The docstrings of Python modules, for packages whose archive has no documentation beside the code."""
    files = {path: data for path, data in files if path.endswith(".py") and not NOT_PROSE.search(path)}
    for path in sorted(files, key=draw)[:MOST_FILES]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # odd escapes in strings of others
                nodes = ast.walk(ast.parse(files[path]))
        except (SyntaxError, ValueError):
            continue
        for node in nodes:
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                yield from marked_sections(text)


READERS = {"docs": documents, "docstrings": docstrings, "wordnet": wordnet, "dict": dictionary, "text": speeches,
           "chat": conversations, "codes": codes}


# --- Choice ---

def is_prose(text):
    letters = sum(char.isalpha() or char == " " for char in text)
    return text.isprintable() and letters >= 0.75 * len(text) and sum(map(ord, text)) < 140 * len(text)


def texts_of(heading, paragraphs):
    """(kind, text) of everything one section offers."""
    paragraphs = [text for text in paragraphs if is_prose(text) and not HELD_OUT.search(text) and len(text) > 25]
    if HELD_OUT.search(heading):
        return
    if heading and paragraphs and is_prose(heading) and 2 <= len(heading.split()) <= 14:
        yield "heading", heading
        if heading.endswith("?"):
            yield "question", heading
        elif draw(heading, "template") < 0.6:
            template = TEMPLATES[int(draw(heading, "which") * len(TEMPLATES))]
            yield "question", template.format(heading[0].lower() + heading[1:])
    for text in paragraphs:
        count = len(text.split())
        parts = sentences(text)
        yield from (("question", s) for s in parts if s.endswith("?") and 4 <= len(s.split()) <= 30)
        if 5 <= len(parts[0].split()) <= 30:
            yield "sentence", parts[0]
        if 15 <= count <= 90:
            yield "paragraph", text
    whole = " ".join([heading + ".", *paragraphs])
    if len(paragraphs) > 1 and len(whole.split()) > 80:
        yield "section", " ".join(whole.split()[:130])


def candidates(source):
    """{kind: texts} of one source, no more than its share of each kind. Kept on disk."""
    kept = WORK / "candidates" / (re.sub(r"\W", "_", source["name"]) + ".json")
    if kept.exists():
        return json.loads(kept.read_text())
    found = {kind: {} for kind in WANTED}
    files = (file for file in members(fetch(source)) if re.search(source["path"], file[0]))
    for heading, paragraphs in READERS[source["reader"]](files):
        for kind, text in texts_of(heading, paragraphs):
            found[kind][text] = True
    for kind, texts in found.items():
        most = int(OFFERED[kind] * float(source["share"]))
        found[kind] = sorted(texts, key=lambda text: draw(kind, text))[:most]
    write_whole(kept, json.dumps(found).encode())
    return found


def collect():
    """Draws the texts of all sources, so many of each kind, by hash; no text twice in a kind."""
    pools = {kind: {} for kind in WANTED}
    for source in sources():
        for kind, texts in candidates(source).items():
            for text in texts:
                pools[kind].setdefault(text, source["name"])
    rows = []
    for kind, found in pools.items():
        chosen = sorted(found, key=lambda text: draw(kind, text))[:WANTED[kind]]
        rows += [{"kind": kind, "source": found[text], "text": text} for text in chosen]
    random.Random(1).shuffle(rows)
    return rows


def write(path):
    """Writes the texts, one JSON object in a line, and tells how many there are."""
    rows = collect()
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    return len(rows)
