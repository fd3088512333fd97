"""A stock server of the Python SDK with one tool."""

from pydantic import BaseModel

from mcp.server import MCPServer

server = MCPServer("python-hello")


class Echo(BaseModel):
    text: str


@server.tool()
def echo(text: str) -> Echo:
    """Give a text back as it came."""
    return Echo(text=text)


if __name__ == "__main__":
    server.run("stdio")
