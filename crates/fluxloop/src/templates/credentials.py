

def _credentials() -> dict:
    """The header of a signed-in caller, from the environment."""
    value = os.environ.get(@VARIABLE@)
    return {@NAME@: value} if value else {}
