"""Answers questions about the opening hours of the museum."""

from openai import OpenAI

SYSTEM_PROMPT = "You are the desk of a museum. It is open from 10 to 18 o'clock, but not on Mondays."


def reply_to(message: str, history: list[dict] | None = None) -> str:
    client = OpenAI(timeout=30)
    completion = client.chat.completions.create(
        model="gpt-5-mini",
        messages=[{"role": "system", "content": SYSTEM_PROMPT}, *(history or []), {"role": "user", "content": message}],
    )
    return completion.choices[0].message.content
