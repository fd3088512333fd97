

def _text(result) -> str:
    """The text a person would read in a result: all of it, a part of it, or else JSON."""
    if result is None:
        raise RuntimeError("the agent returned nothing")
    if isinstance(result, str):
        return result
    if isinstance(result, BaseException):
        raise RuntimeError(f"the agent gave back an error: {result}") from result
    if hasattr(result, "model_dump"):
        result = result.model_dump()
    if isinstance(result, bytes):
        return result.decode("utf-8", "replace")
    if isinstance(result, tuple):  # such as an answer and its sources
        texts = [part for part in result if isinstance(part, str) and part]
        return texts[0] if texts else _text(next(filter(_holds, result), list(result)))
    if isinstance(result, list) and result:
        last = result[-1]
        if all(isinstance(part, str) for part in result):
            return "\n".join(result)
        if all(isinstance(part, dict) and isinstance(part.get("text"), str) and "role" not in part for part in result):
            return "".join(part["text"] for part in result)
        if all(isinstance(part, (list, tuple)) and len(part) == 2 and isinstance(part[1], str) for part in result):
            return last[1]  # such as who speaks and what is said
        is_message = isinstance(last, dict) and any(name in last for name in ("role", "content", "delta", "message"))
        if is_message or hasattr(last, "content") or len(result) == 1 and isinstance(last, (dict, list)):
            return _text(last)
    if hasattr(result, "__next__"):
        return "".join(_text(piece) for piece in result if piece is not None)
    find = result.get if isinstance(result, dict) else lambda name: getattr(result, name, None)
    texts = [name for name, part in result.items() if isinstance(part, str)] if isinstance(result, dict) else []
    explains = "explanation" in texts and len(texts) > 1  # another field, such as a verdict
    for name in (name for name in _ANSWERS if not (explains and name == "explanation")):
        if _holds(part := find(name)) and (isinstance(part, str) or name not in ("explanation", "report", "summary")):
            return _text(part)
    if isinstance(result, dict):
        likely = [part for name, part in result.items() if isinstance(part, str) and _is_answer(name)]
        asked = ("question", "query", "prompt", "input")  # which some programs send back
        prose = [result[name] for name in texts if name not in asked and " " in result[name].strip() and not explains]
        for parts in (likely, prose):  # The only one that is called an answer, or is more than a word.
            if len(parts) == 1:
                return parts[0]
    if any(isinstance(find(name), str) for name in _ANSWERS):
        return ""  # There is a field for the answer, with nothing in it.
    if isinstance(result, dict) and any(name in result and result[name] is None for name in _ANSWERS):
        raise RuntimeError(f"there is no answer in {json.dumps(result, ensure_ascii=False, default=str)[:500]}")
    if isinstance(result, (dict, list, bool)):
        return json.dumps(result, ensure_ascii=False, default=str)
    return str(result)


def _holds(part) -> bool:
    """Whether there is, or may be, a text in it."""
    return bool(part) and not callable(part) and not isinstance(part, (bool, int, float))


def _is_answer(name) -> bool:
    name = str(name).lower()
    is_other = name.endswith(("id", "to", "at", "type", "time", "count", "url"))
    return not is_other and any(word in name for word in ("answer", "reply", "response", "output", "generated"))


_ANSWERS = (
    "final_answer", "final_response", "final_report", "answer", "reply", "final_output", "output", "response", "output_text",
    "completion", "generated_text", "choices", "generations", "delta", "assistant", "assistantMessage", "assistant_message",
    "content", "text", "result", "raw", "explanation", "report", "summary", "data", "messages", "message", "msg", "body", "value", "token",
    "chunk",
)  # fmt: skip
