"""A travel assistant in one file."""

from fastapi import FastAPI
from openai import OpenAI
from pydantic import BaseModel

app = FastAPI()
client = OpenAI()


class Question(BaseModel):
    message: str
    language: str = "en"


@app.post("/ask")
def ask(question: Question):
    completion = client.chat.completions.create(
        model="gpt-5-mini",
        messages=[
            {"role": "system", "content": f"You plan trips by train. Answer in {question.language}."},
            {"role": "user", "content": question.message},
        ],
    )
    return {"reply": completion.choices[0].message.content}


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=8000)
