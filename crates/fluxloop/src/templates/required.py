

def _required(name: str) -> str:
    """A value that only you know."""
    if name not in os.environ:
        raise RuntimeError(f"set {name}: the call needs it")
    return os.environ[name]
