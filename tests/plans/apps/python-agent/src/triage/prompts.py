BASE = "You sort bug reports of a text editor into the teams: core, plugins, documentation."


def instructions(strict: bool) -> str:
    return f"{BASE} Refuse reports without steps to reproduce." if strict else BASE
