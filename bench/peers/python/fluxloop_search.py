"""The search of fluxloop-mcp over a judged collection: its own chunks, store and retriever.

    python fluxloop_search.py COLLECTION

Prints the milliseconds that indexing took. Then, for every question on stdin (a JSON string per line), the ten best
pages as a JSON list.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from fluxloop_mcp.index import ChunkRecord, IndexStore, Retriever, StubEmbedder
from fluxloop_mcp.index.ingestor import chunk_markdown

CHUNK_SIZE = 512  # what its ingestor uses
FETCHED = 100  # passages, so that ten pages are among them


def pages(folder):
    """The passages of each page, put together again as Markdown."""
    texts = {}
    for line in (folder / "corpus.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        lines = texts.setdefault(row.get("doc", row["_id"]), [f"# {row['title']}"])
        if row.get("heading"):
            lines.append(f"## {row['heading']}")
        lines.append(row["text"])
    return {page: "\n\n".join(lines) for page, lines in texts.items()}


def index(folder, store_folder):
    store = IndexStore(store_folder)
    for page, text in pages(folder).items():
        for chunk in filter(str.strip, chunk_markdown(text, CHUNK_SIZE)):
            store.add_chunk(ChunkRecord.from_content(chunk, {"source": page}))
    store.flush()
    return Retriever(store_folder, StubEmbedder())


def ten_pages(retriever, question):
    found = retriever.top_k(question, k=FETCHED)
    return list(dict.fromkeys(chunk["metadata"]["source"] for chunk, _ in found))[:10]


def main():
    with tempfile.TemporaryDirectory() as store_folder:
        start = time.perf_counter()
        retriever = index(Path(sys.argv[1]), Path(store_folder))
        print((time.perf_counter() - start) * 1000, flush=True)
        for line in sys.stdin:
            print(json.dumps(ten_pages(retriever, json.loads(line))), flush=True)


main()
