"""What the clients share: a transport that responds as a later relay may, and a count of the routes used."""

import json
import os
import re

import httpx

URL = os.environ["CLIENT_TEST_URL"]
TOKENS = {"client": "aa" * 32, "models": "bb" * 32}
used = set()


def with_later_members(value):
    """Adds a member that clients of this version don't know to every object."""
    if isinstance(value, dict):
        return {name: with_later_members(member) for name, member in value.items()} | {"memberOfALaterVersion": [1]}
    if isinstance(value, list):
        return [with_later_members(element) for element in value]
    return value


class LaterRelay(httpx.HTTPTransport):
    """Passes requests to the relay and adds members to its responses; replaces an error's code if the request says so."""

    def handle_request(self, request):
        answer = super().handle_request(request)
        body = answer.read()
        if answer.status_code < 300:
            used.add(f"{request.method} {request.url.path}")
        headers = {"Content-Type": "application/json"}
        if body:
            members = with_later_members(json.loads(body))
            if "X-Later-Code" in request.headers:
                members["code"] = "code_of_a_later_version"
            body = json.dumps(members).encode()
        return httpx.Response(answer.status_code, headers=headers, content=body, request=request)


def check_all_used():
    """Fails if a route of the document wasn't used successfully."""
    described = set()
    path = None
    for line in open("docs/reference/openapi.yaml", encoding="utf-8"):
        if found := re.match(r"  (/\S+):$", line):
            path = found[1]
        elif path and (found := re.match(r"    (get|post):$", line)):
            described.add(f"{found[1].upper()} {path}")
    assert len(described) > 15, described
    assert used == described, f"not used: {sorted(described - used)}; not described: {sorted(used - described)}"
