"""A collection like a FAQ, for measuring only: the questions and answers of three manuals that nothing is trained on.

The answers stand in the corpus without their questions. These manuals are under the GPL; nothing of them is kept.
"""
import json
import pathlib

from files import write_whole
from passages import html_sections
from sources import fetch, members

PACKAGES = (("debian-faq", "11.1", "/FAQ/"), ("git-doc", "1:2.39.5-0+deb12u3", "/gitfaq.html"),
            ("fetchmail", "6.4.37-1", "/fetchmail-FAQ.html"))


def answers(work):
    for name, version, part in PACKAGES:
        archive = fetch({"kind": "debian", "name": name, "version": version, "sha256": ""}, work)
        for path, data in members(archive):
            if part in path and path.endswith("html") and "index" not in path:
                for heading, paragraphs in html_sections(data.decode("utf-8", "replace")):
                    text = "\n".join(paragraphs)
                    if len(text) > 80:
                        yield heading, text[:1200]


def write(work):
    folder = pathlib.Path(work) / "faq"
    folder.mkdir(exist_ok=True)
    corpus, queries, grades = [], [], ["query\tdocument\tgrade"]
    for number, (heading, text) in enumerate(answers(work)):
        corpus.append({"_id": str(number), "title": "", "text": text})
        if len(heading.split()) > 3 and not heading.startswith("Chapter"):
            queries.append({"_id": str(number), "text": heading.lstrip("0123456789. \u00a0")})
            grades.append(f"{number}\t{number}\t1")
    for name, rows in (("corpus", corpus), ("queries", queries)):
        write_whole(folder / f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    write_whole(folder / "qrels.tsv", "\n".join(grades).encode())
    return folder
