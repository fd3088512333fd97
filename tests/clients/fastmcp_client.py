"""FastMCP, which has a client of its own on top of the official SDK: other defaults, other checks of what it gets."""

from contextlib import asynccontextmanager

import anyio
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import MCPError
from mcp_types import PromptReference, ToolListChangedNotification

import checks
from report import ERA, SERVER, VERSION, expect


class Library:
    def __init__(self, client, heard):
        self.client = client
        self.heard = heard
        self.version = client.protocol_version

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name, arguments, on_progress=None):
        try:
            result = await self.client.call_tool(name, arguments, progress_handler=on_progress)
        except (ToolError, MCPError) as error:
            return None, str(error)
        # Where the structured content does not fit the output schema, FastMCP only logs it and leaves `data` empty.
        expect(result.data is not None, f"not of the output schema: {result.structured_content}")
        return result.structured_content, None

    async def complete(self, prompt, argument, value):
        return (await self.client.complete(PromptReference(name=prompt), {"name": argument, "value": value})).values

    async def resources(self):
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def read(self, uri):
        return (await self.client.read_resource(uri))[0].text

    async def prompts(self):
        return [prompt.name for prompt in await self.client.list_prompts()]

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    async def hear(self, change):
        if ERA != "legacy":
            raise checks.NotApplicable("it has no subscriptions/listen")
        await change()
        await self.heard.wait()


@asynccontextmanager
async def connection(user, key):
    heard = anyio.Event()

    async def on_elicit(message, response_type, params, context):
        content = user.answer(params.requested_schema)
        return ElicitResult(action="accept" if content else "decline", content=content)

    async def on_message(message):
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    mode = VERSION if ERA == "pin" else ERA
    # The key as most people give it: FastMCP makes the header of it.
    transport = StreamableHttpTransport(SERVER[0], auth=key) if key else StdioTransport(SERVER[0], SERVER[1:])
    client = Client(transport, mode=mode, elicitation_handler=on_elicit, message_handler=on_message)
    try:
        async with client:
            yield Library(client, heard)
    finally:
        await client.close()  # The transport would keep the server for the next client.


anyio.run(checks.run, "fastmcp", connection)
