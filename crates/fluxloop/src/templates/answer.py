    try:
        answer = json.loads(text)
    except ValueError:
        return _joined(text) or text
    reply = @PICK@
    if reply is answer and isinstance(answer, dict) and (answer.get("error") or answer.get("success") is False):
        raise RuntimeError(f"the program answered: {text[:500]}")
    return _text(reply)


def _joined(text: str) -> str:
    """Pieces of text in a stream: `data: {"delta": "…"}`, `data: …`, `0:"…"`, or a JSON object on each line."""
    pieces = []
    for line in text.splitlines():
        kind, _, rest = line.partition(":")
        rest = rest.removeprefix(" ") if kind == "data" else rest
        body = line if line.startswith("{") else rest
        try:
            event = json.loads(body)
        except ValueError:
            event = body if kind == "data" and body not in ("[DONE]", "") else None
        if kind == "0" and isinstance(event, str) or kind == "data" and isinstance(event, str):
            pieces.append(event)
        elif isinstance(event, dict) and (kind == "data" or line.startswith("{")):
            pieces += [_text(event[name]) for name in ("delta", "token", "chunk", *_ANSWERS) if event.get(name)][:1]
    if len(pieces) > 1 and all(after.startswith(before) for before, after in zip(pieces, pieces[1:])):
        return pieces[-1]  # Each is the whole text so far.
    return "".join(pieces)
@TEXT@
