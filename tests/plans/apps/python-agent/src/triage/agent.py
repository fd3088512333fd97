"""The agent behind the command."""

from openai import OpenAI

from triage.prompts import instructions


def triage_report(report: str, *, strict: bool = False) -> str:
    """Says which team a bug report belongs to, and what is missing in it."""
    client = OpenAI()
    completion = client.chat.completions.create(
        model="gpt-5-mini",
        messages=[
            {"role": "developer", "content": instructions(strict)},
            {"role": "user", "content": report},
        ],
    )
    return completion.choices[0].message.content or ""
