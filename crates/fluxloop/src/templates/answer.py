    try:
        answer = json.loads(text)
    except ValueError:
        return _joined(text)
    reply = @PICK@
    if reply is answer and isinstance(answer, dict) and (answer.get("error") or answer.get("success") is False):
        raise RuntimeError(f"the program answered: {text[:500]}")
    return _text(reply)


def _joined(text: str) -> str:
    """Pieces of text in a stream: `data: {"delta": "…"}`, `data: …`, `0:"…"`, or a JSON object on each line."""
    pieces, errors, event_name = [], [], ""
    for line in text.splitlines():
        field, _, rest = line.partition(":")
        rest = rest.removeprefix(" ") if field in ("data", "event") else rest
        event_name = rest if field == "event" else event_name if line else ""
        body = line if line.startswith("{") else rest if field in ("data", "0", "3") else ""
        if not body or body.startswith("[") and body[1:-1].isalpha():  # such as [DONE]
            continue
        event = _parsed(body)
        if isinstance(event, dict):
            kind = str(event.get("type") or event.get("event") or event_name)
            if kind == "error" or set(event) == {"error"}:
                errors.append(body)
            part = next((event[name] for name in ("delta", "token", "chunk", *_ANSWERS) if event.get(name)), None)
            said = _text(part) if part and not isinstance(part, (bool, int, float)) else ""
            if said and (isinstance(part, str) or said[0] not in "{["):  # JSON holds no text
                pieces.append((kind, said))
        elif field != "3" and (isinstance(event, str) or field == "data"):
            pieces.append((event_name, event if isinstance(event, str) else body))
        elif field == "3":
            errors.append(rest)
    if errors and not pieces:
        raise RuntimeError(f"the program answered: {errors[0][:500]}")
    if not pieces:
        return text
    texts = _spoken(pieces)
    if len(texts) > 1 and all(after.startswith(before) for before, after in zip(texts, texts[1:])):
        return texts[-1]  # Each is the whole text so far.
    if len(texts) > 2 and texts[-1] == "".join(texts[:-1]):
        return texts[-1]  # At the end all of it comes once more.
    return "".join(texts)


def _parsed(body: str):
    for parse in (json.loads, ast.literal_eval) if body.startswith("{") else (json.loads,):
        try:
            return parse(body)
        except (ValueError, SyntaxError):
            pass
    return body


def _spoken(pieces: list) -> list:
    """What is said, not what is told about it: events of kinds such as `token`, before others."""
    asides = ("reason", "think", "tool", "argument", "status", "error", "progress", "source", "citation", "metadata")
    said = [(kind.lower(), text) for kind, text in pieces if not any(word in kind.lower() for word in asides)]
    for words in (("delta", "token", "chunk"), ("text", "content", "answer", "message", "response")):
        found = [text for kind, text in said if any(word in kind for word in words)]
        if found:
            return found
    return [text for _, text in said or pieces]
@TEXT@
