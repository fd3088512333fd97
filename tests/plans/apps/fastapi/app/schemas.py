from pydantic import BaseModel, Field


class ChatRequest(BaseModel):
    message: str = Field(min_length=1, max_length=4000)
    customer_id: str | None = None


class ChatReply(BaseModel):
    reply: str
