"""A collector of traces: OTLP over HTTP as JSON, checked against the definitions of opentelemetry-proto."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def in_base64(value):
    """Converts OTLP's hexadecimal identifiers to the base64 of protobuf's JSON."""
    if isinstance(value, list):
        return [in_base64(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64encode(bytes.fromhex(item)).decode() if key in ("traceId", "spanId", "parentSpanId") else in_base64(item)
            for key, item in value.items()}


class Span:
    """A span as parsed by the protocol's definitions."""

    def __init__(self, span):
        self.name, self.kind, self.failed = span.name, span.kind, span.status.code == 2
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.began, self.ended = span.start_time_unix_nano, span.end_time_unix_nano
        self.links = [(link.trace_id.hex(), link.span_id.hex()) for link in span.links]
        self.attributes = {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in span.attributes}

    def __repr__(self):
        return f"{self.name} {self.id} under {self.parent or '-'} of {self.trace} {self.attributes}"


class Receiver:
    """Serves on a free port; `behave` answers each request and can be replaced."""

    def __init__(self, behave=None):
        self.spans, self.bodies, self.headers, self.resources = [], [], [], []
        self.behave = behave or (lambda handler: self.answer(handler, 200))
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.bodies.append(self.body)
                receiver.headers.append(self.headers)
                receiver.behave(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    def answer(self, handler, status, headers=(), body=b"{}"):
        """Responds with a status; keeps the spans if it is 200."""
        if status == 200:
            self.take(handler)
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def take(self, handler):
        assert handler.path == "/v1/traces" and handler.headers["Content-Type"] == "application/json", handler.path
        request = json_format.ParseDict(in_base64(json.loads(handler.body)), ExportTraceServiceRequest())
        for resource in request.resource_spans:
            self.resources.append({item.key: item.value.string_value for item in resource.resource.attributes})
            for scope in resource.scope_spans:
                self.spans += [Span(span) for span in scope.spans]

    @staticmethod
    def endless(handler):
        """Responds with a body that never ends."""
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * 65_536)
        except OSError:
            pass

    @staticmethod
    def silent(_):
        """Doesn't respond for longer than anyone waits."""
        time.sleep(120)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
