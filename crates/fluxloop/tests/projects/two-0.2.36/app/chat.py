"""A chat with a model that is none: it counts words and calls them tokens. CHAT_RELEASE chooses how well."""

import os
import time

import fluxloop

RELEASE = int(os.environ.get("CHAT_RELEASE", "2"))


@fluxloop.prompt(name="write_answer", model="words-1")
def write_answer(question: str) -> dict:
    time.sleep(0.02 * len(question.split()))
    if "poem" in question and RELEASE == 1:
        raise TimeoutError("words-1 did not answer within 30 s")
    text = f"{question.rstrip('?').capitalize()}: that depends."
    used, made = len(question.split()), len(text.split())
    return {"text": text, "usage": {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made}}


@fluxloop.agent(name="chat")
def answer(message: str) -> str:
    if RELEASE == 2 and message.isupper():
        raise ValueError(f"do not shout: {message!r}")
    return write_answer(message)["text"]
