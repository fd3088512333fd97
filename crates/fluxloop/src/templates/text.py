

def _text(result) -> str:
    """The text a person would read in a result: all of it, a part of it, or else JSON."""
    if isinstance(result, str):
        return result
    if hasattr(result, "model_dump"):
        result = result.model_dump()
    if isinstance(result, bytes):
        return result.decode("utf-8", "replace")
    if isinstance(result, tuple):  # such as an answer and its sources
        return next((part for part in result if isinstance(part, str)), _text(list(result)))
    if isinstance(result, list):
        if result and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in result):
            return "".join(part["text"] for part in result)
        last = result[-1] if result else None
        if len(result) == 1 and isinstance(last, (dict, list)):
            return _text(last)
        if hasattr(last, "content") or isinstance(last, dict) and ("content" in last or "delta" in last):
            return _text(last)
    elif hasattr(result, "__next__"):
        return "".join(_text(piece) for piece in result)
    find = result.get if isinstance(result, dict) else lambda name: getattr(result, name, None)
    for name in _ANSWERS if not isinstance(result, list) else ():
        part = find(name)
        if part and not callable(part) and not isinstance(part, (bool, int, float)):
            return _text(part)
    if isinstance(result, dict):
        likely = [part for name, part in result.items() if isinstance(part, str) and _is_answer(name)]
        if len(likely) == 1:
            return likely[0]
    if isinstance(result, (dict, list)):
        return json.dumps(result, ensure_ascii=False, default=str)
    return "" if result is None else str(result)


def _is_answer(name) -> bool:
    return any(word in str(name).lower() for word in ("answer", "reply", "response", "output", "generated"))


_ANSWERS = (
    "answer", "reply", "response", "final_output", "output", "output_text", "completion", "generated_text", "choices", "generations",
    "delta", "assistant", "assistantMessage", "assistant_message", "content", "text", "result", "raw", "data", "messages",
    "message", "body", "value",
)  # fmt: skip
