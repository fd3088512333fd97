"""Texts with the tokens and the vector that the table gives for each: what a test of another reader compares with."""
import json

import numpy as np

TEXTS = (
    "How do I roll back a deployment?",
    "Rolling back to a previous revision",
    "What is the boiling point of water on Mars?",
    "fluxway index --quality ./docs",
    "snake_case, camelCase and kebab-case identifiers",
    "std::collections::HashMap<String, Vec<u8>>",
    "max_retries=3 && retry_backoff_ms>=0x1F; // TODO: HTTPServerError",
    "Crème brûlée, naïve façade, Ångström, cafe\u0301",
    "日本語の文書 and 中文文档",
    "한국어 문서 검색",
    "FluxLoop를 설치",
    "Привет, мир!",
    "Рентгеноэлектрокардиографического-" + "я" * 60,
    "Ελληνικά: ΣΊΣΥΦΟΣ; İstanbul; Straße",
    "نص عربي و עברית",
    "don't stop; it's 3.14 (approximately) — isn't it?",
    "ERROR 0x80070005: access denied at C:\\Users\\me",
    "the of and to a in",
    "Supercalifragilisticexpialidocious antidisestablishmentarianism",
    "boundary layer transition on a heated flat plate at 20°C±2",
    "Vitamin D deficiency and bone density in older adults",
    "tabs\tand\nnew lines\r\nand non\u00a0breaking\u200bspaces, soft\u00adhyphens",
    "😀 emoji and ™ signs ½ ² Linux®",
    "x" * 100,
    "x" * 101,
    "[CLS] [SEP] [unused7] ##ing",
    " \t\n",
    "",
)


def as_json(table):
    """One line for each text: its tokens by their number in the table, and its vector as numbers from -127 to 127."""
    lines = []
    for text, vector in zip(TEXTS, table.vectors(TEXTS)):
        numbers = np.rint(vector / max(np.abs(vector).max(), 1e-9) * 127).astype(int).tolist()
        entry = {"text": text, "ids": table.ids(text), "vector": numbers}
        lines.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()
