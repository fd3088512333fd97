"""The assistant of the help page."""

from django.conf import settings
from openai import OpenAI

PROMPT = "You help people who lost the key of their rented bicycle."


def answer(message: str) -> str:
    completion = OpenAI().chat.completions.create(
        model=settings.ASSISTANT_MODEL,
        messages=[{"role": "system", "content": PROMPT}, {"role": "user", "content": message}],
    )
    return completion.choices[0].message.content
