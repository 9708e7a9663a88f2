"""Requests and answers byte for byte, checked with the models that mcp-types generates from the specification's schemas."""

import json

import jsonschema
from mcp_types import _v2025_11_25 as old
from mcp_types import _v2026_07_28 as new

from common import MCP, RELAY, TOOLS, Phone, request

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {}}
phone = Phone()


def post(body, headers=None, secret=phone.secret):
    """Posts a message; returns status, headers, and the body as JSON unless it is empty."""
    all_headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if secret is not None:
        all_headers["Authorization"] = f"Bearer {secret}"
    status, answered, content = request(MCP, body, {**all_headers, **(headers or {})})
    return status, answered, json.loads(content) if content else None


def modern(method, params=None, headers=None):
    own = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
    if "name" in (params or {}):
        own["Mcp-Name"] = params["name"]
    body = {"jsonrpc": "2.0", "id": "a-1", "method": method, "params": {**(params or {}), "_meta": META}}
    return post(body, {**own, **(headers or {})})


def legacy(method, params=None, headers=None):
    return post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}, headers)


def result(answer, model, id):
    """The result of a successful answer, checked by its model."""
    status, headers, body = answer
    assert status == 200 and headers["Content-Type"] == "application/json", (status, body)
    assert body["jsonrpc"] == "2.0" and body["id"] == id and type(body["id"]) is type(id), body
    model.model_validate(body["result"])
    return body["result"]


def check_results():
    discovered = result(modern("server/discover"), new.DiscoverResult, "a-1")
    assert discovered["supportedVersions"][0] == VERSION and discovered["resultType"] == "complete"
    agreed = result(
        legacy("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}),
        old.InitializeResult, 7)
    assert agreed["protocolVersion"] == "2025-11-25"
    tools = result(modern("tools/list"), new.ListToolsResult, "a-1")["tools"]
    assert tools == result(legacy("tools/list"), old.ListToolsResult, 7)["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    # In the order of the tools: what is scheduled is listed and then cancelled.
    arguments = {
        "send_notification": {"title": "T", "message": "M", "urgency": "normal"}, "list_devices": {},
        "schedule_notification": {
            "title": "T", "message": "M", "name": "n",
            "every": {"unit": "month", "on": [1, -1], "at": ["08:00"], "timeZone": "Europe/Berlin"}},
        "list_scheduled": {}, "cancel_scheduled": {"name": "n"}}
    for tool in tools:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
        call = {"name": tool["name"], "arguments": arguments[tool["name"]]}
        jsonschema.validate(call["arguments"], tool["inputSchema"])
        for answered in (
                result(modern("tools/call", call), new.CallToolResult, "a-1"),
                result(legacy("tools/call", call), old.CallToolResult, 7)):
            assert answered["isError"] is False
            jsonschema.validate(answered["structuredContent"], tool["outputSchema"])
            assert json.loads(answered["content"][-1]["text"]) == answered["structuredContent"]
    phone.expect_notifications(["T", "T"])
    assert legacy("ping")[2]["result"] == {}


def refused(answer, status, code, model):
    assert answer[0] == status and answer[2]["error"]["code"] == code, answer[2]
    model.model_validate(answer[2])


def check_errors():
    call = {"name": "list_devices", "arguments": {}}
    refused(modern("tools/call", call, {"Mcp-Name": "x"}), 400, -32020, new.HeaderMismatchError)
    refused(modern("tools/list", headers={"Mcp-Method": "tools/call"}), 400, -32020, new.HeaderMismatchError)
    refused(
        modern("tools/list", headers={"MCP-Protocol-Version": "2025-11-25"}), 400, -32020, new.HeaderMismatchError)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {
        "_meta": {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}}}
    refused(
        post(body, {"MCP-Protocol-Version": "1900-01-01", "Mcp-Method": "tools/list"}), 400, -32022,
        new.UnsupportedProtocolVersionError)
    refused(modern("resources/list"), 404, -32601, new.JSONRPCErrorResponse)
    refused(legacy("resources/list"), 200, -32601, old.JSONRPCErrorResponse)
    refused(legacy("tools/list", headers={"MCP-Protocol-Version": "1900-01-01"}), 400, -32022, old.JSONRPCErrorResponse)
    refused(post([]), 400, -32600, new.JSONRPCErrorResponse)
    refused(post(b"{"), 400, -32700, new.JSONRPCErrorResponse)
    refused(post({}, {"Content-Type": "text/plain"}), 415, -32600, new.JSONRPCErrorResponse)
    refused(post({}, {"Origin": "https://evil.example"}), 403, -32600, new.JSONRPCErrorResponse)
    status, headers, _ = post({}, secret=None)
    assert status == 401 and headers["WWW-Authenticate"] == "Bearer"


def check_transport():
    for notification in ("notifications/initialized", "notifications/cancelled"):
        status, headers, body = post({"jsonrpc": "2.0", "method": notification})
        assert status == 202 and body is None and "Mcp-Session-Id" not in headers
    for method in ("GET", "DELETE"):
        status, headers, _ = request(MCP, None, phone.headers, method)
        assert status == 405 and headers["Allow"] == "POST", status
    for path in ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"):
        assert request(f"{RELAY}/.well-known/{path}")[0] == 404


check_results()
phone.expect_agent("wire")
check_errors()
check_transport()
print("wire: answers, errors and transport are as the specification says")
