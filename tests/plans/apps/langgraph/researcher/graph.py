"""Two steps: take the blanks off the question, then answer it."""

from langchain_core.messages import convert_to_openai_messages
from langgraph.graph import END, START, MessagesState, StateGraph
from openai import OpenAI

SYSTEM = {"role": "system", "content": "You answer questions about mountains, in one sentence."}


def tidy(state: MessagesState) -> dict:
    last = state["messages"][-1]
    return {"messages": [last.model_copy(update={"content": last.content.strip()})]}


def call_model(state: MessagesState) -> dict:
    completion = OpenAI().chat.completions.create(
        model="gpt-5-mini",
        messages=[SYSTEM, *convert_to_openai_messages(state["messages"])],
    )
    return {"messages": [{"role": "assistant", "content": completion.choices[0].message.content}]}


builder = StateGraph(MessagesState)
builder.add_node("tidy", tidy)
builder.add_node("call_model", call_model)
builder.add_edge(START, "tidy")
builder.add_edge("tidy", "call_model")
builder.add_edge("call_model", END)

graph = builder.compile(name="researcher")
