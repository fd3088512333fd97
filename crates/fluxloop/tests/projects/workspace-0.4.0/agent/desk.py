"""Answers as a function of Python. DESK_RELEASE chooses how well."""

import os

RELEASE = int(os.environ.get("DESK_RELEASE", "3"))


def handler(text: str):
    if "refund" in text.lower() and RELEASE == 1:
        raise RuntimeError("payment backend is down")
    if RELEASE == 2:
        raise ConnectionError("")  # an error without a message
    if "open" in text.lower():
        return ""
    words = len(text.split())
    # A mapping with `usage`: FluxLoop takes the tokens, and keeps the whole mapping as text for the output.
    return {"answer": "It is on its way.", "usage": {"input_tokens": words, "output_tokens": 4, "total_tokens": words + 4}}
