def run(input: str) -> str:
    return input[::-1]
