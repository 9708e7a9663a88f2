"""An HTTP proxy that supports CONNECT, on the standard library's HTTP server: proxy.py MODE.

MODE: open, user:password (requires them), refuse (403), silent, early (sends data before the server's), garbage, endless.
Every name leads to 127.0.0.1. It prints its port, then each request's target.
"""
import base64
import http.server
import select
import socket
import socketserver
import sys
import time

MODE = sys.argv[1]


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_CONNECT(self):
        print("CONNECT", self.path, self.headers["Host"], flush=True)
        if MODE == "silent":
            time.sleep(60)
        if MODE == "refuse":
            return self.send_error(403)
        if MODE == "garbage":
            self.wfile.write(b"220 mail.example ESMTP\r\n")
            return
        if MODE == "endless":
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X-Filler: yes\r\n" * 100_000)
            except OSError:
                pass
            return
        if ":" in MODE:
            expected = "Basic " + base64.b64encode(MODE.encode()).decode()
            if self.headers["Proxy-Authorization"] != expected:
                self.send_response(407)
                self.send_header("Proxy-Authenticate", 'Basic realm="test"')
                self.send_header("Content-Length", "0")
                return self.end_headers()
        with socket.create_connection(("127.0.0.1", int(self.path.rpartition(":")[2]))) as server:
            if MODE == "early":
                # In one write; otherwise the first read may miss the data.
                self.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nearly")
            else:
                self.send_response(200, "Connection established")
                self.end_headers()
            self.forward(server)
        self.close_connection = True

    def forward(self, server):
        ends = {self.connection: server, server: self.connection}
        while True:
            for end in select.select(list(ends), [], [])[0]:
                data = end.recv(65536)
                if not data:
                    return
                ends[end].sendall(data)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


with Server(("127.0.0.1", 0), Proxy) as server:
    print("port", server.server_address[1], flush=True)
    server.serve_forever()
