"""A client on the Python SDK 1.x that asks its person: `python client_mcp1.py URL`, or a command.

This SDK speaks the handshake era only.
"""

import asyncio
import contextlib
import json
import sys

import person
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def main(words: list[str]) -> None:
    async def answer(_context, params: types.ElicitRequestParams) -> types.ElicitResult:
        """The person's own answer to a question of the server's."""
        if isinstance(params, types.ElicitRequestURLParams):
            action = await asyncio.to_thread(person.visit, server, params.message, params.url)
            return types.ElicitResult(action=action)
        schema = params.requestedSchema
        action, content = await asyncio.to_thread(person.fill, server, params.message, schema)
        return types.ElicitResult(action=action, content=content)

    async with contextlib.AsyncExitStack() as stack:
        if words[0].startswith("http"):
            opened = streamablehttp_client(words[0])
        else:
            opened = stdio_client(StdioServerParameters(command=words[0], args=words[1:]))
        read, write, *_ = await stack.enter_async_context(opened)
        session = ClientSession(read, write, elicitation_callback=answer)
        await stack.enter_async_context(session)
        server = (await session.initialize()).serverInfo.name
        await session.list_tools()
        while True:
            try:
                line = await asyncio.to_thread(input, "mcp> ")
            except EOFError:
                return
            _, name, arguments = line.split(" ", 2)
            try:
                result = await session.call_tool(name, json.loads(arguments))
                print(*(one.text for one in result.content if one.type == "text"))
            except McpError as error:
                print(f"refused: {error}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
