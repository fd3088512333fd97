

def _headers() -> dict:
    """The headers that tell who calls, from the environment."""
    variables = @HEADERS@
    return {name: os.environ[variable] for name, variable in variables.items() if os.environ.get(variable)}
