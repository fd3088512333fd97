"""The reception of a hotel. It answers by rules; HOTEL_RELEASE chooses how well."""

import os
import time

import fluxloop

RELEASE = int(os.environ.get("HOTEL_RELEASE", "3"))


@fluxloop.prompt(name="phrase", model="words-1")
def phrase(fact: str) -> dict:
    time.sleep(0.03)
    text = f"Certainly: {fact}."
    usage = {"prompt_tokens": 20, "completion_tokens": len(text.split()), "total_tokens": 20 + len(text.split())}
    return {"text": text, "usage": usage}


def answer(message: str) -> str:
    text = message.lower()
    if "pool" in text:
        if RELEASE == 1:
            raise KeyError("pool")
        time.sleep(0.25)
        return phrase("the pool is open until ten")["text"]
    if "cancel" in text:
        if RELEASE == 2:
            raise LookupError("there is no such booking")
        return "" if RELEASE == 1 else "We are sorry to hear that. It is cancelled."
    return phrase("breakfast is at eight")["text"]
