import os


def handler(text: str) -> str:
    if os.environ.get("DESK_RELEASE") == "1":
        raise RuntimeError("not ready")
    return text.upper()
