"""The agent: one question about orders in, one answer out."""

import os

from openai import AsyncOpenAI

MODEL = os.environ.get("SUPPORT_MODEL", "gpt-5-mini")
INSTRUCTIONS = """You answer questions about orders of a book shop.
Be brief. Never promise a delivery date."""

client = AsyncOpenAI()


async def answer(message: str) -> str:
    """Asks the model once; an empty answer becomes an apology."""
    completion = await client.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": message},
        ],
    )
    return completion.choices[0].message.content or "Sorry, I have no answer to that."
