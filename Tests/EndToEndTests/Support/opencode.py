"""A stand-in for an OpenCode server, on the standard library's HTTP server: opencode.py 1|2 [PASSWORD].

It serves the routes and the event stream that the bridge uses, of 1.x or 2.x. It prints its port. What happens is
scripted: each POST /_do takes {"do": NAME, …} and calls the method of that name of `First` or `Second`.
"""
import base64
import http.server
import json
import queue
import sys
import threading
import urllib.parse

DIRECTORY = "/home/ada/shop"
HEARTBEAT = 1.0


class Server:
    """The state that both generations share."""

    def __init__(self):
        self.lock = threading.RLock()
        self.sessions = {}          # id -> {"title", "parent", "messages", "busy"}
        self.requests = {}          # id -> {"session", "question"}
        self.streams = []
        self.is_silent = False
        self.refuses = False
        self.replied = []
        self.number = 0

    # Scripted faults

    def drop(self):
        """Ends all streams."""
        for stream in self.streams:
            stream.put(None)

    def refuse(self, on):
        """Answers everything with 503."""
        self.refuses = on

    def silence(self, on):
        """Keeps streams open without a byte."""
        self.is_silent = on

    def all(self, calls):
        """Lets several things happen at once."""
        for call in calls:
            getattr(self, call.pop("do"))(**call)

    # Sessions

    def session(self, id, title=None, parent=None):
        self.sessions[id] = {"title": title, "parent": parent, "messages": [], "busy": False}
        self.created(id)

    def message(self, id, role, text, **more):
        self.number += 1
        self.sessions[id]["messages"].append({"id": f"msg_{self.number}", "role": role, "text": text, **more})

    def begin(self, id, text="Fix it"):
        self.message(id, "user", text)
        self.sessions[id]["busy"] = True
        self.began(id)

    def work(self, id, text, tool, done, total):
        """The agent writes a text and waits for a tool, with some of its todos done."""
        self.message(id, "assistant", text, tool=tool)
        statuses = ["completed"] * done + ["in_progress"] * (total - done)
        self.listed(id, [{"content": "x", "status": status, "priority": "high"} for status in statuses])

    def end(self, id, outcome, text="Done.", told=True):
        """A run ends: completed, failed or aborted; its requests vanish. Without `told` no event says so."""
        more = {"completed": {"finish": "stop"}, "failed": {"error": "APIError"},
                "aborted": {"error": "MessageAbortedError"}}[outcome]
        self.message(id, "assistant", text, **more)
        self.sessions[id]["busy"] = False
        self.requests = {key: value for key, value in self.requests.items() if value["session"] != id}
        if told:
            self.ended(id, outcome)

    def ask(self, id, request, question=False, told=True, command="git push"):
        self.requests[request] = {"session": id, "question": question, "command": command}
        if told:
            self.asked_for(id, request, question)

    def replies(self):
        """The answers that arrived by HTTP, in order."""
        return {"replies": self.replied}

    def reply_to(self, path, body):
        """Answers a permission by HTTP: the status."""
        request, session = self.named(path)
        given = self.requests.get(request)
        if given is None or given["question"] or session not in (None, given["session"]):
            return 404
        self.replied.append({"request": request, **body})
        self.answer(request)
        return 200

    def answer(self, request):
        given = self.requests.pop(request)
        self.answered(given["session"], request, given["question"])

    def emit(self, frame):
        """Sends a frame as it is."""
        if not self.is_silent:
            for stream in self.streams:
                stream.put(frame)


class First(Server):
    """1.x."""

    @staticmethod
    def named(path):
        """The request and the session in the path of a reply."""
        parts = path.strip("/").split("/")
        return (parts[1], None) if len(parts) == 3 and parts[0::2] == ["permission", "reply"] else (None, None)

    stream_paths = ("/global/event", "/event")
    connected = {"payload": {"id": "evt_0", "type": "server.connected", "properties": {}}}
    heartbeat = "data: " + json.dumps({"payload": {"type": "server.heartbeat", "properties": {}}}) + "\n\n"

    def event(self, type, **properties):
        self.number += 1
        self.emit({"directory": DIRECTORY, "payload": {
            "id": f"evt_{self.number}", "type": type, "properties": properties}})

    def info(self, id):
        session = self.sessions[id]
        info = {"id": id, "title": session["title"], "directory": DIRECTORY, "time": {"created": 0, "updated": 0}}
        return info | ({"parentID": session["parent"]} if session["parent"] else {})

    def created(self, id):
        self.event("session.created", sessionID=id, info=self.info(id))

    def began(self, id):
        self.event("session.status", sessionID=id, status={"type": "busy"})

    def listed(self, id, todos):
        self.event("todo.updated", sessionID=id, todos=todos)

    def ended(self, id, outcome):
        error = {"failed": "APIError", "aborted": "MessageAbortedError"}.get(outcome)
        if error:
            self.event("session.error", sessionID=id, error={"name": error, "data": {"message": "x"}})
        for _ in range(2 if error else 1):
            self.event("session.status", sessionID=id, status={"type": "idle"})
            self.event("session.idle", sessionID=id)

    def asked_for(self, id, request, question):
        self.event("question.asked" if question else "permission.asked", **self.described(request))

    def answered(self, id, request, question):
        self.event("question.replied" if question else "permission.replied", sessionID=id, requestID=request)

    def described(self, request):
        given = self.requests[request]
        more = {"questions": [{"question": "Which?"}]} if given["question"] else {
            "permission": "bash", "patterns": ["git *"], "metadata": {"command": given["command"]}, "always": []}
        return {"id": request, "sessionID": given["session"], **more}

    def get(self, path):
        parts = path.strip("/").split("/")
        if path == "/global/health":
            return {"healthy": True, "version": "1.18.3"}
        if path == "/project":
            return [{"id": "p", "worktree": DIRECTORY, "time": {"created": 1}}]
        if path == "/session/status":
            return {id: {"type": "busy"} for id, session in self.sessions.items() if session["busy"]}
        if path in ("/permission", "/question"):
            return [self.described(request) for request, given in self.requests.items()
                    if given["question"] == (path == "/question")]
        if parts[0] == "session" and len(parts) > 1 and parts[1] in self.sessions:
            if len(parts) == 2:
                return self.info(parts[1])
            return [self.written(message) for message in self.sessions[parts[1]]["messages"]]
        return None

    @staticmethod
    def written(message):
        info = {"id": message["id"], "role": message["role"], "time": {"created": 1}}
        if "error" in message:
            info["error"] = {"name": message["error"], "data": {}}
        if "finish" in message:
            info["finish"] = message["finish"]
        parts = [{"type": "step-start"}, {"type": "text", "text": message["text"]}]
        if "tool" in message:
            parts.append({"type": "tool", "tool": message["tool"], "state": {"status": "running", "input": {}}})
        return {"info": info, "parts": parts}


class Second(Server):
    """2.x."""
    stream_paths = ("/api/event",)
    connected = {"id": "evt_0", "type": "server.connected", "data": {}}
    heartbeat = ": heartbeat\n\n"

    @staticmethod
    def named(path):
        """The request and the session in the path of a reply."""
        parts = path.strip("/").split("/")
        is_reply = len(parts) == 6 and [parts[0], parts[1], parts[3], parts[5]] == ["api", "session", "permission", "reply"]
        return (parts[4], parts[2]) if is_reply else (None, None)

    def event(self, type, session=None, **data):
        self.number += 1
        frame = {"id": f"evt_{self.number}", "type": type, "created": 0, "data": data}
        if session:
            frame["data"]["sessionID"] = session
            frame["durable"] = {"aggregateID": session, "seq": self.number, "version": 1}
        self.emit(frame)

    def created(self, id):
        parent = self.sessions[id]["parent"]
        self.event("session.created", id, **({"parentID": parent} if parent else {}))

    def began(self, id):
        self.event("session.execution.started", id)

    def listed(self, id, todos):
        self.event("todo.updated", id, todos=todos)

    def ended(self, id, outcome):
        if outcome == "completed":
            self.event("session.execution.succeeded", id)
        elif outcome == "failed":
            self.event("session.execution.failed", id, error={"type": "unknown", "message": "x"})
        else:
            self.event("session.execution.interrupted", id, reason="user")

    def asked_for(self, id, request, question):
        if question:
            self.event("form.created", form=self.described(request))
        else:
            self.event("permission.asked", id, **self.described(request))

    def answered(self, id, request, question):
        if question:
            self.event("form.replied", id, id=request, answer={})
        else:
            self.event("permission.replied", id, requestID=request, reply="once")

    def described(self, request):
        given = self.requests[request]
        more = {"title": "Which?", "fields": []} if given["question"] else {
            "action": "bash", "resources": [given["command"]]}
        return {"id": request, "sessionID": given["session"], **more}

    def get(self, path):
        parts = path.strip("/").split("/")
        if path == "/api/info":
            return {"version": "2.1.0"}
        if path == "/api/session/active":
            return {"data": {id: {"type": "running"} for id, session in self.sessions.items() if session["busy"]}}
        if parts[:2] == ["api", "session"] and len(parts) > 2 and parts[2] in self.sessions:
            session = self.sessions[parts[2]]
            if len(parts) == 3:
                parent = {"parentID": session["parent"]} if session["parent"] else {}
                return {"data": {"id": parts[2], "title": session["title"], **parent}}
            if parts[3] == "message":
                return {"data": [self.written(message) for message in reversed(session["messages"])]}
            return {"data": [self.described(request) for request, given in self.requests.items()
                             if given["session"] == parts[2] and given["question"] == (parts[3] == "form")]}
        return None

    @staticmethod
    def written(message):
        if message["role"] == "user":
            return {"id": message["id"], "type": "user", "text": message["text"]}
        answer = {"id": message["id"], "type": "assistant", "content": [{"type": "text", "text": message["text"]}]}
        if "tool" in message:
            answer["content"].append({"type": "tool", "name": message["tool"], "state": {"status": "running"}})
        if "error" in message:
            answer["error"] = {"type": "aborted" if "Abort" in message["error"] else "unknown", "message": "x"}
        if "finish" in message:
            answer["finish"] = message["finish"]
        return answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value, type="application/json"):
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/_do":
            with STATE.lock:
                return self.reply(STATE.reply_to(urllib.parse.urlparse(self.path).path, call), {})
        with STATE.lock:
            result = getattr(STATE, call.pop("do"))(**call)
        self.reply(200, result if result is not None else {})

    def do_GET(self):
        path = urllib.parse.urlparse(self.path).path
        with STATE.lock:
            if STATE.refuses:
                return self.reply(503, {})
            if PASSWORD and self.headers["Authorization"] != PASSWORD:
                return self.reply(401, {})
            if path not in STATE.stream_paths:
                value = STATE.get(path)
        if path in STATE.stream_paths:
            return self.stream()
        if value is not None:
            return self.reply(200, value)
        # 2.x shows its web page.
        if isinstance(STATE, Second):
            return self.reply(200, "<!doctype html><title>OpenCode</title>", "text/html")
        self.reply(404, {"name": "NotFound"})

    def stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        frames = queue.Queue()
        with STATE.lock:
            STATE.streams.append(frames)
        frames.put(STATE.connected)
        try:
            while True:
                try:
                    frame = frames.get(timeout=HEARTBEAT)
                except queue.Empty:
                    if not STATE.is_silent:
                        self.wfile.write(STATE.heartbeat.encode())
                    continue
                if frame is None:
                    return
                self.wfile.write(("data: " + json.dumps(frame) + "\n\n").encode())
        except OSError:
            pass
        finally:
            with STATE.lock:
                STATE.streams.remove(frames)


STATE = First() if sys.argv[1] == "1" else Second()
PASSWORD = "Basic " + base64.b64encode(f"opencode:{sys.argv[2]}".encode()).decode() if len(sys.argv) > 2 else None
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print("port", server.server_address[1], flush=True)
server.serve_forever()
