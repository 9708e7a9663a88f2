"""Requests and responses byte for byte, checked against the specification's JSON schemas."""

import json
import os
import pathlib

import jsonschema

from common import MCP, RELAY, TOOLS, Phone, request

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {}}
phone = Phone()


class Schemas:
    """The definitions in one version of the specification."""

    def __init__(self, version):
        path = pathlib.Path(os.environ["MCP_TEST_SCHEMAS"]) / f"{version}.json"
        self.schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def check(self, name, value):
        """Whether a value matches the definition with this name."""
        assert name in self.schema["$defs"], name
        jsonschema.Draft202012Validator({**self.schema, "$ref": f"#/$defs/{name}"}).validate(value)


old, new = Schemas("2025-11-25"), Schemas(VERSION)
for schemas in (old, new):
    try:
        schemas.check("CallToolResult", {"content": [{"type": "text"}], "resultType": "complete"})
    except jsonschema.ValidationError:
        continue
    raise AssertionError("the schemas refuse nothing")


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


def result(answer, schemas, name, id):
    """Returns the result of a successful response after checking it against its definition."""
    status, headers, body = answer
    assert status == 200 and headers["Content-Type"] == "application/json", (status, body)
    assert body["jsonrpc"] == "2.0" and body["id"] == id and type(body["id"]) is type(id), body
    schemas.check("JSONRPCResultResponse", body)
    schemas.check(name, body["result"])
    return body["result"]


def check_results():
    discovered = result(modern("server/discover"), new, "DiscoverResult", "a-1")
    assert discovered["supportedVersions"][0] == VERSION and discovered["resultType"] == "complete"
    agreed = result(
        legacy("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}),
        old, "InitializeResult", 7)
    assert agreed["protocolVersion"] == "2025-11-25"
    tools = result(modern("tools/list"), new, "ListToolsResult", "a-1")["tools"]
    assert tools == result(legacy("tools/list"), old, "ListToolsResult", 7)["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    # In the order of the tools: a scheduled notification is listed and then cancelled.
    arguments = {
        "send_notification": {"title": "T", "message": "M", "urgency": "normal"}, "list_devices": {},
        "ask_user": {"question": "Which?", "choices": ["A", "B"], "timeout": 1}, "schedule_notification": {
            "title": "T", "message": "M", "name": "n",
            "every": {"unit": "month", "on": [1, -1], "at": ["08:00"], "timeZone": "Europe/Berlin"}},
        "list_scheduled": {}, "cancel_scheduled": {"name": "n"}}
    for tool in tools:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
        call = {"name": tool["name"], "arguments": arguments[tool["name"]]}
        jsonschema.validate(call["arguments"], tool["inputSchema"])
        for answered in (
                result(modern("tools/call", call), new, "CallToolResult", "a-1"),
                result(legacy("tools/call", call), old, "CallToolResult", 7)):
            assert answered["isError"] is False
            jsonschema.validate(answered["structuredContent"], tool["outputSchema"])
            assert json.loads(answered["content"][-1]["text"]) == answered["structuredContent"]
    wrong = {"name": "send_notification", "arguments": {"title": "T", "urgency": "loud"}}
    assert result(modern("tools/call", wrong), new, "CallToolResult", "a-1")["isError"] is True
    assert result(legacy("tools/call", wrong), old, "CallToolResult", 7)["isError"] is True
    phone.expect_notifications(["T", "T", "An agent asks", "An agent asks"])
    assert legacy("ping")[2]["result"] == {}
    lists = {
        "resources/list": ("resources", "ListResourcesResult"), "prompts/list": ("prompts", "ListPromptsResult"),
        "resources/templates/list": ("resourceTemplates", "ListResourceTemplatesResult")}
    for method, (member, schema) in lists.items():
        assert result(modern(method), new, schema, "a-1")[member] == []
        assert result(legacy(method), old, schema, 7)[member] == []


def refused(answer, status, code, schemas, name="JSONRPCErrorResponse"):
    assert answer[0] == status and answer[2]["error"]["code"] == code, answer[2]
    schemas.check(name, answer[2])


def check_errors():
    call = {"name": "list_devices", "arguments": {}}
    refused(modern("tools/call", call, {"Mcp-Name": "x"}), 400, -32020, new, "HeaderMismatchError")
    refused(modern("tools/list", headers={"Mcp-Method": "tools/call"}), 400, -32020, new, "HeaderMismatchError")
    refused(
        modern("tools/list", headers={"MCP-Protocol-Version": "2025-11-25"}), 400, -32020, new, "HeaderMismatchError")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {
        "_meta": {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}}}
    refused(
        post(body, {"MCP-Protocol-Version": "1900-01-01", "Mcp-Method": "tools/list"}), 400, -32022,
        new, "UnsupportedProtocolVersionError")
    refused(modern("resources/read"), 404, -32601, new)
    refused(legacy("resources/read"), 200, -32601, old)
    refused(legacy("tools/list", headers={"MCP-Protocol-Version": "1900-01-01"}), 400, -32022, old)
    refused(post([]), 400, -32600, new)
    refused(post(b"{"), 400, -32700, new)
    refused(post({}, {"Content-Type": "text/plain"}), 415, -32600, new)
    refused(post({}, {"Origin": "https://evil.example"}), 403, -32600, new)
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
