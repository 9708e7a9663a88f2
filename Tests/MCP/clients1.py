"""The client of version 1 of the Python SDK, which only supports protocol versions that begin with `initialize`."""

import asyncio
from datetime import timedelta

import httpx
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client

from common import MCP, SECONDS_MAX, TOOLS, Phone


async def main():
    phone, requests = Phone(), []

    async def note(answer):
        requests.append((answer.request.method, answer.status_code))

    async with (
            httpx.AsyncClient(
                headers=phone.headers, trust_env=False, timeout=SECONDS_MAX, event_hooks={"response": [note]}) as http,
            streamable_http_client(MCP, http_client=http) as (read, write, _),
            ClientSession(read, write, read_timeout_seconds=timedelta(seconds=SECONDS_MAX)) as session):
        agreed = await session.initialize()
        assert agreed.protocolVersion == "2025-11-25" and agreed.serverInfo.name == "apn-relay", agreed
        await session.send_ping()
        assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS
        sent = await session.call_tool("send_notification", {"title": "Tests", "message": "Two fail.", "urgency": "low"})
        assert not sent.isError and sent.structuredContent["sent"] == 1, sent
        phone.expect_hidden(sent.model_dump_json())
        (payload,) = phone.expect_notifications(["Tests"])
        assert payload["aps"]["interruption-level"] == "passive" and "sound" not in payload["aps"], payload
        devices = await session.call_tool("list_devices")
        assert devices.structuredContent["devices"][0]["deviceName"] == "Ada's phone", devices
        soon = await session.call_tool("schedule_notification", {"title": "Soon", "message": "It is time.", "in": 1})
        assert not soon.isError and soon.structuredContent["id"], soon
        phone.wait_for_notifications(["Tests", "Soon"])
        faulty = await session.call_tool("send_notification", {"title": "T"})
        assert faulty.isError and "message is required" in faulty.content[0].text, faulty
        try:
            await session.call_tool("no_such_tool", {})
            raise AssertionError("a tool that doesn't exist was called")
        except McpError as error:
            assert error.error.code == -32602, error
    phone.expect_agent("mcp")
    assert ("POST", 202) in requests, requests
    print("mcp 1: agrees on 2025-11-25, lists and calls tools")


asyncio.run(asyncio.wait_for(main(), 90))
