"""A client on the Python SDK 2.x that asks its person: `python client.py URL`, or a command.

The SDK speaks both eras, sends the retry and returns the state by itself; what it cannot know is
who sits in front of it. That is `answer`.
"""

import asyncio
import json
import sys

import mcp_types as types
import person
from mcp import Client, MCPError, StdioServerParameters


async def main(words: list[str]) -> None:
    async def answer(_context, params: types.ElicitRequestParams) -> types.ElicitResult:
        """The person's own answer to a question of the server's."""
        server = client.server_info.name if client.server_info else "The server"
        if isinstance(params, types.ElicitRequestURLParams):
            action = await asyncio.to_thread(person.visit, server, params.message, params.url)
            return types.ElicitResult(action=action)
        schema = params.requested_schema
        action, content = await asyncio.to_thread(person.fill, server, params.message, schema)
        return types.ElicitResult(action=action, content=content)

    over_http = words[0].startswith("http")
    server = words[0] if over_http else StdioServerParameters(command=words[0], args=words[1:])
    async with Client(server, elicitation_callback=answer) as client:
        await client.list_tools()
        while True:
            try:
                line = await asyncio.to_thread(input, "mcp> ")
            except EOFError:
                return
            _, name, arguments = line.split(" ", 2)
            try:
                result = await client.call_tool(name, json.loads(arguments))
                print(*(one.text for one in result.content if one.type == "text"))
            except MCPError as error:
                print(f"refused: {error}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
