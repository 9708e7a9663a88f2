"""A stand-in for an OpenCode server, on the standard library's HTTP server: opencode.py 1|2|preview [PASSWORD].

It serves the routes and the event stream that the bridge uses, as 1.18.33, 2.0.26 or the preview of July 2026 does. It
prints its port. Events are scripted: each POST /_do has {"do": NAME, …} and calls the method of that name in
`First`, `Second` or `Preview`.
"""
import base64
import http.server
import json
import os
import queue
import sys
import threading
import urllib.parse

DIRECTORY = "/home/ada/shop"
HEARTBEAT = 1.0
# 1.18 requires these fields in a permission's metadata; otherwise it responds with 400 to a list of the whole directory.
NEEDED = {"webfetch": "timeout", "grep": "path", "glob": "path", "websearch": "numResults"}


class Server:
    """The state that both generations share."""

    def __init__(self):
        self.lock = threading.RLock()
        self.sessions = {}          # id -> {"title", "parent", "directory", "messages", "busy"}
        self.deleted = set()
        self.requests = {}          # id -> {"session", "question", "permission", "metadata"}
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
        """Responds to everything with 503."""
        self.refuses = on

    def silence(self, on):
        """Keeps streams open without sending a byte."""
        self.is_silent = on

    def all(self, calls):
        """Runs several scripted calls at once."""
        for call in calls:
            getattr(self, call.pop("do"))(**call)

    # Sessions

    def session(self, id, title=None, parent=None, directory=DIRECTORY):
        self.sessions[id] = {
            "title": title, "parent": parent, "directory": directory, "messages": [], "busy": False}
        self.created(id)

    def rename(self, id, title):
        self.sessions[id]["title"] = title

    def message(self, id, role, text, **more):
        self.number += 1
        self.sessions[id]["messages"].append({"id": f"msg_{self.number}", "role": role, "text": text, **more})

    def begin(self, id, text="Fix it"):
        self.message(id, "user", text)
        self.sessions[id]["busy"] = True
        self.began(id)

    def work(self, id, text, tool, done, total):
        """The agent writes text and waits for a tool, with some of its todos done."""
        self.message(id, "assistant", text, tool=tool)
        statuses = ["completed"] * done + ["in_progress"] * (total - done)
        self.listed(id, [{"content": "x", "status": status, "priority": "high"} for status in statuses])

    def end(self, id, outcome, text="Done.", told=True):
        """A run ends: completed, failed or aborted; its requests disappear. Without `told` no event reports this."""
        more = {"completed": {"finish": "stop"}, "failed": {"error": "APIError"},
                "aborted": {"error": "MessageAbortedError"}}[outcome]
        self.message(id, "assistant", text, **more)
        self.record(id, outcome)
        self.sessions[id]["busy"] = False
        self.withdraw(id)
        if told:
            self.ended(id, outcome)

    def record(self, id, outcome):
        """2.x releases keep the outcome of a run as a message."""

    def withdraw(self, id):
        """The requests of an ended run disappear without an event."""
        self.requests = {key: value for key, value in self.requests.items() if value["session"] != id}

    def restart(self):
        """Simulates a restart of the server: runs and requests are gone, sessions remain."""
        self.requests = {}
        for session in self.sessions.values():
            session["busy"] = False
        self.drop()

    def ask(self, id, request, question=False, told=True, command="git push", permission="bash", metadata=None,
            asks=None):
        """Asks for a permission, a question or several: `asks` contains their fields in the server's own format."""
        self.requests[request] = {
            "session": id, "question": question, "permission": permission, "asks": asks or self.choice,
            "metadata": {"command": command} if metadata is None else metadata}
        if told:
            self.asked_for(id, request, question)

    def replies(self):
        """The answers received by HTTP, in order."""
        return {"replies": self.replied}

    def reply_to(self, path, body):
        """Answers a permission by HTTP; returns the status."""
        request, session = self.named(path)
        if request is None:
            return self.answer_questions(path, body)
        given = self.requests.get(request)
        if given is None or given["question"] or session not in (None, given["session"]):
            return 404
        if body.get(self.reply_member) not in ("once", "always", "reject"):
            return 400
        message = {"message": body["message"]} if "message" in body else {}
        self.replied.append({"request": request, "reply": body[self.reply_member], **message})
        self.answer(request)
        return 200

    def answer_questions(self, path, body):
        """Answers or rejects questions or a form by HTTP; returns the status."""
        request, session, verb = self.named_question(path)
        given = self.requests.get(request)
        if given is None or not given["question"] or session not in (None, given["session"]):
            return 404
        if verb == "reply":
            if not self.accepts(given["asks"], body):
                return 400
            self.replied.append({"request": request, **body})
        else:
            self.replied.append({"request": request, "rejected": True})
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
    """1.18.33."""
    reply_member = "reply"

    def withdraw(self, id):
        """An aborted run's permissions and questions stay in the lists; only their calls end."""
        for given in self.requests.values():
            if given["session"] == id:
                given["aborted"] = True

    def delete(self, id):
        """A deleted session stays busy, and its requests stay listed."""
        self.withdraw(id)
        info = self.info(id)
        self.deleted.add(id)
        self.event("session.deleted", id, sessionID=id, info=info)

    @staticmethod
    def named(path):
        """The request and the session in the path of a reply."""
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            return Second.named(path)
        return (parts[1], None) if len(parts) == 3 and parts[0::2] == ["permission", "reply"] else (None, None)

    def prompt(self, id, request):
        """Starts a turn of the API that 1.18 shares with 2.x: it asks, and has no status."""
        self.message(id, "user", "Fix it")
        self.next.add(id)
        self.event("session.next.prompted", id, sessionID=id, messageID="msg_1", prompt={"text": "Fix it"})
        self.requests[request] = {
            "session": id, "question": False, "permission": "bash", "metadata": {"command": "ls"}, "next": True}
        self.event("permission.v2.asked", id, id=request, sessionID=id, action="bash", resources=["ls"])

    def finish(self, id, text):
        """Ends a turn of the API that 1.18 shares with 2.x."""
        self.message(id, "assistant", text, finish="stop")
        self.next.discard(id)
        self.event("session.next.step.ended", id, sessionID=id, assistantMessageID="msg_2", finish="tool-calls")
        self.event("session.next.step.ended", id, sessionID=id, assistantMessageID="msg_3", finish="stop")

    choice = [{"question": "Which?", "header": "Choice", "options": [
        {"label": label, "description": label + "!"} for label in ("Postgres", "SQLite")]}]

    @staticmethod
    def named_question(path):
        """The request, the session and the verb in the path of an answer."""
        parts = path.strip("/").split("/")
        known = len(parts) == 3 and parts[0] == "question" and parts[2] in ("reply", "reject")
        return (parts[1], None, parts[2]) if known else (None, None, None)

    @staticmethod
    def accepts(asks, body):
        """Whether each question has a list of labels or free text."""
        answers = body.get("answers")
        return set(body) == {"answers"} and isinstance(answers, list) and len(answers) == len(asks) and all(
            isinstance(given, list) and all(isinstance(text, str) for text in given) for given in answers)

    next = set()
    stream_paths = ("/global/event", "/event")
    connected = {"payload": {"id": "evt_0", "type": "server.connected", "properties": {}}}
    heartbeat = "data: " + json.dumps({"payload": {"type": "server.heartbeat", "properties": {}}}) + "\n\n"

    def event(self, type, session, **properties):
        self.number += 1
        self.emit({"directory": self.sessions[session]["directory"], "payload": {
            "id": f"evt_{self.number}", "type": type, "properties": properties}})

    def info(self, id):
        session = self.sessions[id]
        info = {"id": id, "title": session["title"], "directory": session["directory"],
                "time": {"created": 0, "updated": 0}}
        return info | ({"parentID": session["parent"]} if session["parent"] else {})

    def created(self, id):
        self.event("session.created", id, sessionID=id, info=self.info(id))

    def rename(self, id, title):
        super().rename(id, title)
        self.event("session.updated", id, sessionID=id, info=self.info(id))

    def began(self, id):
        self.event("session.status", id, sessionID=id, status={"type": "busy"})

    def listed(self, id, todos):
        self.event("todo.updated", id, sessionID=id, todos=todos)

    def ended(self, id, outcome):
        error = {"failed": "APIError", "aborted": "MessageAbortedError"}.get(outcome)
        if error:
            self.event("session.error", id, sessionID=id, error=self.error(error))
        for _ in range(2 if error else 1):
            self.event("session.status", id, sessionID=id, status={"type": "idle"})
            self.event("session.idle", id, sessionID=id)

    @staticmethod
    def error(name):
        return {"name": name, "data": {"message": "Aborted" if "Abort" in name else "boom"}}

    def asked_for(self, id, request, question):
        self.event("question.asked" if question else "permission.asked", id, **self.described(request))

    def answered(self, id, request, question):
        self.event(
            "question.replied" if question else "permission.replied", id, sessionID=id, requestID=request)

    def answer(self, request):
        given = self.requests[request]
        if "next" not in given:
            return super().answer(request)
        del self.requests[request]
        self.event("permission.v2.replied", given["session"], sessionID=given["session"], requestID=request)

    def described(self, request):
        given = self.requests[request]
        more = {"questions": given.get("asks")}
        if not given["question"]:
            # The patterns are split and truncated: only the metadata contains the full request.
            more = {"permission": given["permission"], "patterns": ["make *"], "metadata": given["metadata"],
                    "always": ["make *"]}
        call = {"messageID": "msg_" + request, "callID": "call_" + request}
        return {"id": request, "sessionID": given["session"], **more, "tool": call}

    def get(self, path, directory):
        parts = path.strip("/").split("/")
        directory = directory or DIRECTORY
        here = {id: session for id, session in self.sessions.items() if session["directory"] == directory}
        if path == "/global/health":
            return {"healthy": True, "version": "1.18.33"}
        if path == "/project":
            return [{"id": "p", "worktree": DIRECTORY, "time": {"created": 1}},
                    {"id": "global", "worktree": "/", "time": {"created": 1}}]
        if path == "/experimental/session":
            return [self.info(id) for id in self.sessions if id not in self.deleted]
        if path == "/session/status":
            return {id: {"type": "busy"} for id, session in here.items() if session["busy"]}
        if path in ("/permission", "/question"):
            asked = [request for request, given in self.requests.items()
                     if given["session"] in here and "next" not in given and given["question"] == (path == "/question")]
            for request in asked:
                given = self.requests[request]
                needed = NEEDED.get(given["permission"])
                if needed and not given["question"] and needed not in given["metadata"]:
                    return 400, {"name": "BadRequest", "data": {"message": f"Expected JSON value at {needed}"}}
            return [self.described(request) for request in asked]
        if path == "/api/session/active":
            return {"data": {id: {"type": "running"} for id in self.next}}
        if parts[:2] == ["api", "session"] and parts[3:] == ["message"]:
            return {"data": [Second.written(message) for message in reversed(self.sessions[parts[2]]["messages"])]}
        if parts[0] == "api":
            return 200, "<!doctype html><title>OpenCode</title>", "text/html"
        if parts[0] == "session" and len(parts) > 1 and parts[1] in self.sessions and parts[1] not in self.deleted:
            if len(parts) == 2:
                return self.info(parts[1])
            if len(parts) == 3:
                return [self.written(message) for message in self.sessions[parts[1]]["messages"]]
            return self.calling(parts[3])
        return None

    def calling(self, message):
        """The message of a tool call that waits for an answer, unless its run was aborted."""
        request = message.removeprefix("msg_")
        given = self.requests.get(request)
        if given is None:
            return None
        state = {"status": "running", "input": {}}
        if "aborted" in given:
            state = {"status": "error", "error": "Tool execution aborted"}
        return {"info": {"id": message, "role": "assistant", "time": {"created": 1}}, "parts": [
            {"type": "tool", "callID": "call_" + request, "tool": given["permission"], "state": state}]}

    @classmethod
    def written(cls, message):
        info = {"id": message["id"], "role": message["role"], "time": {"created": 1}}
        if "error" in message:
            info["error"] = cls.error(message["error"])
        if "finish" in message:
            info["finish"] = message["finish"]
        parts = [{"type": "step-start"}, {"type": "text", "text": message["text"]}]
        if "tool" in message:
            parts.append({"type": "tool", "tool": message["tool"], "state": {"status": "running", "input": {}}})
        return {"info": info, "parts": parts}


class Second(Server):
    """2.0.26."""
    reply_member = "decision"
    version_path = "/api/info"
    permission_event = "permission"

    def record(self, id, outcome):
        outcome = {"completed": "succeeded", "failed": "failed", "aborted": "interrupted"}[outcome]
        self.message(id, "idle", None, outcome=outcome)

    def delete(self, id):
        self.event("session.deleted", id)
        self.withdraw(id)
        del self.sessions[id]

    stream_paths = ("/api/event",)
    connected = {"id": "evt_0", "type": "server.connected", "data": {}}
    heartbeat = ": heartbeat\n\n"

    @staticmethod
    def named(path):
        """The request and the session in the path of a reply."""
        parts = path.strip("/").split("/")
        is_reply = len(parts) == 6 and parts[:2] + parts[3::2] == ["api", "session", "permission", "reply"]
        return (parts[4], parts[2]) if is_reply else (None, None)

    choice = [{"key": "0", "title": "Which?", "type": "string", "required": True, "options": [
        {"value": label.lower(), "label": label} for label in ("Postgres", "SQLite")]}]
    verbs = ("reply",)

    @classmethod
    def named_question(cls, path):
        """The form, the session and the verb in the path of an answer."""
        parts = path.strip("/").split("/")
        known = len(parts) == 6 and parts[:2] + parts[3:4] == ["api", "session", "form"] and parts[5] in cls.verbs
        return (parts[4], parts[2], parts[5]) if known else (None, None, None)

    @staticmethod
    def accepts(asks, body):
        """Whether each field's value has its type, is one of its options, and is not too small."""
        answer = body.get("answer")
        fields = {field["key"]: field for field in asks}
        if set(body) != {"answer"} or not isinstance(answer, dict) or not set(answer) <= set(fields):
            return False
        types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "multiselect": list}
        for key, field in fields.items():
            if key not in answer:
                if field.get("required"):
                    return False
                continue
            value = answer[key]
            if not isinstance(value, types[field["type"]]) or (value is True and field["type"] != "boolean"):
                return False
            options = [option["value"] for option in field.get("options", [])]
            chosen = value if isinstance(value, list) else [value]
            if options and not field.get("custom") and not set(chosen) <= set(options):
                return False
            if "minimum" in field and value < field["minimum"]:
                return False
        return True

    def cancel(self, path, message):
        """Cancels a form with DELETE; returns the status, or None for the web page."""
        parts = path.strip("/").split("/")
        if len(parts) != 5 or parts[:2] + parts[3:4] != ["api", "session", "form"]:
            return None
        given = self.requests.get(parts[4])
        if given is None or not given["question"] or given["session"] != parts[2]:
            return 404
        self.replied.append({"request": parts[4], "rejected": True} | ({"message": message} if message else {}))
        self.answer(parts[4])
        return 204

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
            self.event("session.execution.failed", id, error={"type": "unknown", "message": "boom"})
        else:
            self.event("session.execution.interrupted", id, reason="user")

    def asked_for(self, id, request, question):
        if question:
            self.event("form.created", form=self.described(request))
        else:
            self.event(self.permission_event + ".asked", id, **self.described(request))

    def answered(self, id, request, question):
        if question:
            self.event("form.replied", id, id=request, answer={})
        else:
            self.event(self.permission_event + ".replied", id, requestID=request, reply="once")

    def described(self, request):
        given = self.requests[request]
        more = {"mode": "form", "title": "Questions", "metadata": {"kind": "question"}, "fields": given["asks"]}
        if not given["question"]:
            more = {"action": given["permission"], "resources": [given["metadata"].get("command", "x")]}
        return {"id": request, "sessionID": given["session"], **more}

    def get(self, path, directory):
        parts = path.strip("/").split("/")
        if path == self.version_path:
            return self.version
        if path == "/api/session/active":
            return {"data": {id: {"type": "running"} for id, session in self.sessions.items() if session["busy"]}}
        if parts[:2] == ["api", "session"] and len(parts) > 2 and parts[2] in self.sessions:
            session = self.sessions[parts[2]]
            if len(parts) == 3:
                more = {key: session[value] for key, value in (("parentID", "parent"), ("title", "title"))
                        if session[value]}
                return {"data": {"id": parts[2], "location": {"directory": session["directory"]}, **more}}
            if parts[3] == "message":
                return {"data": [self.written(message) for message in reversed(session["messages"])]}
            return {"data": [self.described(request) for request, given in self.requests.items()
                             if given["session"] == parts[2] and given["question"] == (parts[3] == "form")]}
        if parts[:2] == ["api", "session"]:
            return 404, {"_tag": "SessionNotFoundError"}
        return None

    @staticmethod
    def written(message):
        if message["role"] == "user":
            return {"id": message["id"], "type": "user", "text": message["text"]}
        if message["role"] == "idle":
            error = {"error": {"type": "unknown", "message": "boom"}} if message["outcome"] == "failed" else {}
            return {"id": message["id"], "type": "idle", "outcome": message["outcome"], **error}
        answer = {"id": message["id"], "type": "assistant", "content": [{"type": "text", "text": message["text"]}]}
        if "tool" in message:
            answer["content"].append({"type": "tool", "name": message["tool"], "state": {"status": "running"}})
        if "error" in message:
            answer["error"] = {"type": "aborted" if "Abort" in message["error"] else "unknown", "message": "x"}
        if "finish" in message:
            answer["finish"] = message["finish"]
        return answer

    version = {"version": "2.0.26", "pid": 1, "urls": []}


    # Pairing

    codes = ()
    refuses_codes = False

    def refuse_codes(self, on):
        self.refuses_codes = on

    def reachable(self, urls):
        """The addresses that the server advertises."""
        self.version = self.version | {"urls": urls}

    def pair(self):
        """Makes a one-time code; earlier ones stay valid for five minutes."""
        code = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        self.codes = (*self.codes, code)
        return {"code": code, "expires_in": 300}

    def connect(self, path, accept):
        """Logs in with a one-time code: returns the status, the value and the type or, for a browser, the redirect."""
        code = path.removeprefix("/auth/connect/")
        if code not in self.codes:
            return 401, "This link expired or was already used.", "text/html"
        self.codes = tuple(other for other in self.codes if other != code)
        return (302, "/", "text/html") if "text/html" in accept else (200, {"token": "token-of-" + code})


class Preview(Second):
    """The preview of 2026-07-17."""
    reply_member = "reply"
    version_path = "/api/health"
    version = {"healthy": True, "version": "2.0.0-preview", "pid": 1}
    permission_event = "permission.v2"
    verbs = ("reply", "cancel")

    def record(self, id, outcome):
        pass

    def cancel(self, path, message):
        return None


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
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/pair" and type(STATE) is Second:
            with STATE.lock:
                if PASSWORD and self.headers["Authorization"] != PASSWORD:
                    return self.reply(401, {})
                if STATE.refuses_codes or body:
                    return self.reply(403 if STATE.refuses_codes else 400, {"_tag": "InvalidRequestError"})
                return self.reply(200, STATE.pair())
        call = json.loads(body or b"{}")
        if self.path != "/_do":
            with STATE.lock:
                path = urllib.parse.urlparse(self.path).path
                if isinstance(STATE, Second) and STATE.named(path)[0] is STATE.named_question(path)[0] is None:
                    return self.page()
                status = 503 if STATE.refuses else STATE.reply_to(path, call)
                return self.reply(status, {} if status == 200 else {"_tag": "InvalidRequestError"})
        with STATE.lock:
            result = getattr(STATE, call.pop("do"))(**call)
        self.reply(200, result if result is not None else {})

    def do_DELETE(self):
        address = urllib.parse.urlparse(self.path)
        message = urllib.parse.parse_qs(address.query).get("message", [None])[0]
        with STATE.lock:
            status = STATE.cancel(address.path, message) if isinstance(STATE, Second) else 404
        if status is None:
            return self.page()
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def page(self):
        """2.x serves its web page at unknown paths."""
        self.reply(200, "<!doctype html><title>OpenCode</title>", "text/html")

    def do_GET(self):
        address = urllib.parse.urlparse(self.path)
        path, query = address.path, urllib.parse.parse_qs(address.query)
        with STATE.lock:
            if STATE.refuses:
                return self.reply(503, {})
            if path.startswith("/auth/connect/") and type(STATE) is Second:
                return self.reply(*STATE.connect(path, self.headers["Accept"] or ""))
            if PASSWORD and self.headers["Authorization"] != PASSWORD:
                return self.reply(401, {})
            if path not in STATE.stream_paths:
                value = STATE.get(path, query.get("directory", [None])[0])
        if path in STATE.stream_paths:
            return self.stream()
        if isinstance(value, tuple):
            return self.reply(*value)
        if value is not None:
            return self.reply(200, value)
        if isinstance(STATE, Second):
            return self.page()
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


STATE = {"1": First, "2": Second, "preview": Preview}[sys.argv[1]]()
PASSWORD = "Basic " + base64.b64encode(f"opencode:{sys.argv[2]}".encode()).decode() if len(sys.argv) > 2 else None
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print("port", server.server_address[1], flush=True)
server.serve_forever()
