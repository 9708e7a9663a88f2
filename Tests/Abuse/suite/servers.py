"""Starts the servers to attack: the relay, and nginx with comparable limits."""

import subprocess
import sys
from pathlib import Path

from harness.programs import start_relay, start_simulator
from launch.processes import find_program, free_port
from launch.programs import make_certificate

from .case import Target
from .crowd import allow_descriptors

HOST = "127.0.0.1"
CONNECTIONS = 4_096  # a quarter of the relay's default, so that attackers fill the server quickly
PER_ADDRESS = 256
SPARE_DESCRIPTORS = 1_000
WORKERS = 2  # event loops in the relay, and nginx processes

NGINX = """
daemon off;
pid nginx.pid;
error_log nginx-error.log;
worker_processes {workers};
worker_rlimit_nofile {files};
events {{ worker_connections {worker_connections}; }}
http {{
    access_log nginx-access.log;
    client_body_temp_path nginx-body; proxy_temp_path nginx-proxy; fastcgi_temp_path nginx-fastcgi;
    uwsgi_temp_path nginx-uwsgi; scgi_temp_path nginx-scgi;
    client_header_timeout 10s; client_body_timeout 20s; send_timeout 20s; keepalive_timeout 75s;
    keepalive_requests 1000000000; keepalive_time 24h;
    large_client_header_buffers 4 8k; client_max_body_size 16k; client_body_buffer_size 16k;
    limit_conn_zone $binary_remote_addr zone=address:10m;
    ssl_certificate tls.pem; ssl_certificate_key tls.key; ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_timeout 1h;
    server {{
        listen {host}:{port} reuseport backlog=1024;
        listen {host}:{tls_port} reuseport backlog=1024 ssl;
        limit_conn address {per_address};
        location = /health {{ default_type application/json; return 200 '{{"status":"ok"}}'; }}
        location = /missing {{ root /nonexistent; }}
        location / {{ proxy_pass http://{host}:{back_port}; }}
    }}
    server {{
        access_log off;
        listen {host}:{back_port};
        location / {{ default_type application/json; return 200 '{{"status":"ok"}}'; }}
    }}
}}
"""


class Servers:
    """Prepares certificates and the attacker, and starts a server for each case."""

    def __init__(self, workplace):
        self.workplace = workplace
        self.files = allow_descriptors()
        if self.files < CONNECTIONS + SPARE_DESCRIPTORS:
            sys.exit(f"This needs {CONNECTIONS + SPARE_DESCRIPTORS} open files a process: raise `ulimit -Hn`")
        directory = workplace.directory
        self.attacker = directory / "tls"
        subprocess.run(
            ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", self.attacker, _source(), "-lssl", "-lcrypto"],
            check=True)
        self.certificate, self.key = make_certificate(directory)
        self.simulator = start_simulator(workplace)

    def relay(self, case):
        """Starts a relay; returns the process and the target."""
        settings = {
            "RELAY_CORE_DUMPS": "yes",  # otherwise only root could see how much memory it uses
            "RELAY_LOOPS": str(WORKERS), "RELAY_CONNECTIONS_MAX": str(CONNECTIONS),
            "RELAY_CONNECTIONS_PER_ADDRESS_MAX": str(PER_ADDRESS), **dict(case.settings)}
        if case.tls:
            settings["RELAY_TLS_CERT_FILE"] = str(self.certificate)
            settings["RELAY_TLS_KEY_FILE"] = str(self.key)
        relay = start_relay(self.workplace, self.simulator, settings)
        return relay, self._target(relay.port)

    def nginx(self, case):
        """Starts nginx; returns the process and the target."""
        directory = self.workplace.directory
        port, tls_port, back_port = free_port(), free_port(), free_port()
        (directory / "nginx.conf").write_text(NGINX.format(
            host=HOST, port=port, tls_port=tls_port, back_port=back_port, workers=WORKERS, files=self.files,
            worker_connections=CONNECTIONS // WORKERS, per_address=PER_ADDRESS))
        command = [find_program("nginx", "nginx-light"), "-p", directory, "-e", "nginx-error.log", "-c", "nginx.conf"]
        server = self.workplace.serve(command, port)
        return server, self._target(tls_port if case.tls else port)

    def log_bytes(self, name):
        """The total size of a server's logs, which all cases share."""
        return sum(file.stat().st_size for file in self.workplace.directory.glob(f"{name}*.log"))

    def _target(self, port):
        return Target(HOST, port, CONNECTIONS, PER_ADDRESS, str(self.attacker))


def _source():
    return Path(__file__).resolve().parent.parent / "tls.c"
