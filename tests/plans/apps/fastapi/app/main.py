"""The HTTP side of the support desk."""

from fastapi import FastAPI, HTTPException
from openai import OpenAIError

from app.agent import answer
from app.schemas import ChatReply, ChatRequest

app = FastAPI(title="Support desk")


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/chat")
async def chat(request: ChatRequest) -> ChatReply:
    try:
        return ChatReply(reply=await answer(request.message))
    except OpenAIError as error:
        raise HTTPException(status_code=502, detail="the assistant is not available") from error
