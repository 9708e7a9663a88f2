"""The client of version 2 of the Python SDK, with each way to negotiate a protocol version.

It checks every result against its model of the specification, and structured content against the tool's output schema."""

import asyncio
import time
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from common import MCP, SECONDS_MAX, TOOLS, Phone

# mode: the resulting version
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


@asynccontextmanager
async def connected(mode, headers, requests=None):
    """A client that records its requests' methods and statuses."""
    async def note(answer):
        if requests is not None:
            requests.append((answer.request.method, answer.status_code))

    async with httpx2.AsyncClient(
            headers=headers, trust_env=False, timeout=SECONDS_MAX, event_hooks={"response": [note]}) as http:
        transport = streamable_http_client(MCP, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=SECONDS_MAX) as client:
            yield client


async def uses_tools(mode, version):
    phone, requests = Phone(), []
    async with connected(mode, phone.headers, requests) as client:
        assert client.protocol_version == version, client.protocol_version
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS and listed.next_cursor is None

        devices = await client.call_tool("list_devices")
        assert not devices.is_error
        (device,) = devices.structured_content["devices"]
        assert device["deviceName"] == "Ada's phone" and device["device"] == "…" + phone.token[-8:], device
        phone.expect_hidden(devices.model_dump_json())

        arguments = {"title": "Build ✓", "message": "It is done.", "urgency": "high", "sessionID": "ses_1", "eventID": "e1"}
        for _ in range(2):
            sent = await client.call_tool("send_notification", arguments)
            assert not sent.is_error and sent.structured_content["sent"] == 1, sent
            assert sent.structured_content["devices"][0]["status"] == "sent"
            phone.expect_hidden(sent.model_dump_json())
        (payload,) = phone.expect_notifications(["Build ✓"])
        assert payload["aps"]["interruption-level"] == "time-sensitive" and payload["sessionID"] == "ses_1", payload

        faulty = await client.call_tool("send_notification", {"title": "T", "message": "M", "urgency": "now"})
        assert faulty.is_error and "low, normal or high" in faulty.content[0].text, faulty
        try:
            await client.call_tool("no_such_tool", {})
            raise AssertionError("a tool that doesn't exist was called")
        except MCPError as error:
            assert error.code == -32602, error
        phone.expect_notifications(["Build ✓"])
        await uses_schedules(client, phone)
        await asks(client, phone)
    phone.expect_agent("mcp")
    if mode != "legacy":
        assert {method for method, _ in requests} == {"POST"}, requests


async def uses_schedules(client, phone):
    """Sends a notification in a second, and lists and cancels a weekly one."""
    soon = await client.call_tool("schedule_notification", {"title": "Soon", "message": "It is time.", "in": 1})
    assert not soon.is_error and soon.structured_content["id"], soon
    every = {"unit": "week", "on": ["mon"], "at": ["08:00"], "timeZone": "Europe/Berlin"}
    weekly = await client.call_tool(
        "schedule_notification", {"title": "Weekly", "message": "Private", "every": every, "name": "weekly"})
    assert not weekly.is_error and weekly.structured_content["name"] == "weekly", weekly
    phone.wait_for_notifications(["Build ✓", "Soon"])
    end = time.monotonic() + SECONDS_MAX
    while True:
        # A schedule is removed after its notification has been sent.
        listed = await client.call_tool("list_scheduled")
        schedules = listed.structured_content["schedules"]
        if len(schedules) == 1:
            break
        assert time.monotonic() < end, schedules
        await asyncio.sleep(0.05)
    assert schedules[0]["nextAt"] == weekly.structured_content["nextAt"] and schedules[0]["every"]["on"] == ["mon"]
    assert "Private" not in listed.model_dump_json()
    for count in (1, 0):
        cancelled = await client.call_tool("cancel_scheduled", {"name": "weekly"})
        assert not cancelled.is_error and cancelled.structured_content == {"cancelled": count}, cancelled
    faulty = await client.call_tool("schedule_notification", {"title": "T", "message": "M", "at": "tomorrow"})
    assert faulty.is_error and "2027-03-28T08:00:00+02:00" in faulty.content[0].text, faulty


async def asks(client, phone):
    """Asks a question that the user answers while the client waits, and another that nobody answers in time."""
    arguments = {"question": "Which?", "choices": ["SQLite", "Postgres"], "title": "Shop", "timeout": 60}
    call = asyncio.create_task(client.call_tool("ask_user", arguments))
    end = time.monotonic() + SECONDS_MAX
    while (payload := (await asyncio.to_thread(phone.payloads))[-1])["aps"]["alert"]["title"] != "Shop":
        assert time.monotonic() < end, payload
        await asyncio.sleep(0.05)
    await asyncio.to_thread(phone.reply, payload["eventID"], "2", "It scales.")
    answered = (await call).structured_content
    assert (answered["status"], answered["answer"], answered["message"]) == ("answered", "Postgres", "It scales."), answered
    asked = payload["eventID"]
    call = asyncio.create_task(client.call_tool("ask_user", {"question": "Which?", "allowText": True, "title": "Shop"}))
    while (payload := (await asyncio.to_thread(phone.payloads))[-1])["eventID"] == asked:
        assert time.monotonic() < end, payload
        await asyncio.sleep(0.05)
    await asyncio.to_thread(phone.reply, payload["eventID"], "write", "DuckDB")
    own = (await call).structured_content
    assert (own["status"], own["answer"], own.get("choice")) == ("answered", "DuckDB", None), own
    silent = await client.call_tool("ask_user", arguments | {"timeout": 1})
    while silent.structured_content["status"] == "waiting":
        assert time.monotonic() < end, silent
        silent = await client.call_tool(
            "ask_user", arguments | {"timeout": 1, "questionID": silent.structured_content["questionID"]})
    assert not silent.is_error and silent.structured_content["status"] == "timed_out", silent


STRANGER = {"Authorization": "Bearer a-secret-without-devices"}


async def reports_nobody():
    """A client bound to the stateless version doesn't connect, so its calls report what is wrong."""
    async with connected("2026-07-28", STRANGER) as client:
        nobody = await client.call_tool("send_notification", {"title": "T", "message": "M"})
        assert nobody.is_error and "No devices are registered" in nobody.content[0].text, nobody


async def is_refused(mode, headers):
    requests = []
    try:
        async with connected(mode, headers, requests) as client:
            await client.list_tools()
        raise AssertionError("the relay let a client connect")
    except Exception as error:
        if isinstance(error, AssertionError):
            raise
    assert requests and {status for _, status in requests} == {401}, requests


async def main():
    for mode, version in MODES.items():
        await uses_tools(mode, version)
        await is_refused(mode, {})
        # It lists tools without connecting.
        if mode != "2026-07-28":
            await is_refused(mode, STRANGER)
        print(f"mcp 2, mode {mode}: agrees on {version}, lists and calls tools")
    await reports_nobody()


asyncio.run(asyncio.wait_for(main(), 90))
