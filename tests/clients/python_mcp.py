"""The official Python SDK."""

from contextlib import asynccontextmanager

import anyio
import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import ElicitResult, PromptReference, ToolListChangedNotification

import checks
from report import ERA, SERVER, VERSION


class Library:
    def __init__(self, client, heard):
        self.client = client
        self.heard = heard
        self.version = client.protocol_version

    async def tools(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name, arguments, on_progress=None):
        try:
            result = await self.client.call_tool(name, arguments, progress_callback=on_progress)
        except mcp.MCPError as error:
            return None, str(error)
        return result.structured_content, result.content[0].text if result.is_error else None

    async def complete(self, prompt, argument, value):
        argument = {"name": argument, "value": value}
        return (await self.client.complete(PromptReference(name=prompt), argument)).completion.values

    async def resources(self):
        return [resource.uri for resource in (await self.client.list_resources()).resources]

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0].text

    async def prompts(self):
        return [prompt.name for prompt in (await self.client.list_prompts()).prompts]

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages[0].content.text

    async def hear(self, change):
        if ERA == "legacy":
            await change()
            await self.heard.wait()
            return
        async with self.client.listen(tools_list_changed=True) as news:
            await change()
            await anext(news)


@asynccontextmanager
async def transport(key):
    if key is None:
        yield mcp.StdioServerParameters(command=SERVER[0], args=SERVER[1:])
        return
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}) as http:
        yield streamable_http_client(SERVER[0], http_client=http)


@asynccontextmanager
async def connection(user, key):
    heard = anyio.Event()

    async def on_elicit(context, params):
        content = user.answer(params.requested_schema)
        return ElicitResult(action="accept" if content else "decline", content=content)

    async def on_message(message):
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    # `pin` trusts the version and sends no `server/discover`: the first thing the server hears is a call.
    mode = VERSION if ERA == "pin" else ERA
    handlers = {"elicitation_callback": on_elicit, "message_handler": on_message}
    async with transport(key) as server, mcp.Client(server, mode=mode, **handlers) as client:
        yield Library(client, heard)


anyio.run(checks.run, "python-mcp", connection)
