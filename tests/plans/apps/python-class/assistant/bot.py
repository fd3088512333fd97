from openai import OpenAI

MEMORY = 10  # Messages that are sent again with the next question.


class SupportBot:
    """Remembers the conversation, as long as it lives."""

    def __init__(self, model: str = "gpt-5-mini") -> None:
        self.model = model
        self.client = OpenAI()
        self.history: list[dict[str, str]] = []

    def reply(self, message: str) -> str:
        self.history.append({"role": "user", "content": message})
        completion = self.client.chat.completions.create(model=self.model, messages=self.history[-MEMORY:])
        text = completion.choices[0].message.content or ""
        self.history.append({"role": "assistant", "content": text})
        return text
