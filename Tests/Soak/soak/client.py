"""Requests to the relays, as OpenCode servers and phones make them."""

import http.client
import json
import threading

REQUEST_TIMEOUT = 30


class Client:
    def __init__(self, stack):
        self.stack = stack
        self.kept = threading.local()

    def post(self, path, body, relay, raw=False):
        """The status and the body of a response; status 0 if there was none."""
        port = self.stack.ports[relay % len(self.stack.ports)]
        connections = self.kept.__dict__.setdefault("connections", {})
        connection = connections.pop(port, None) or http.client.HTTPConnection(
            "127.0.0.1", port, timeout=REQUEST_TIMEOUT)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
            answer = content if raw else json.loads(content)
        except (OSError, http.client.HTTPException, ValueError):
            connection.close()
            return 0, None
        if not response.will_close:
            connections[port] = connection
        return response.status, answer

    def post_until_done(self, path, body, chance, attempts, is_over):
        """Repeats a request at any relay until it succeeds; returns the response, if any, and the number of attempts."""
        for attempt in range(1, attempts + 1):
            status, answer = self.post(path, body, chance.randrange(len(self.stack.ports)))
            if status == 200:
                return answer, attempt
            if is_over.wait(0.2):
                break
        return None, attempt
