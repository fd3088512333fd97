

def _opened(client) -> str:
    """Begins a conversation, as a user of the program does, and gives back its id."""
    response = client.@VERB@(@PATH@@BODY@@HEADERS@)
    if response.status_code >= 400:
        raise RuntimeError(f"@METHOD@ @NAME@ answered {response.status_code}")
    return (response.get_json() if hasattr(response, "get_json") else response.json())[@ID@]
