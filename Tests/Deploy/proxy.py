"""Starts Debian's proxies with the files of deploy/ in front of relays."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "Tests/Support"))
from launch.processes import find_program, free_port  # noqa: E402
from launch.programs import make_certificate  # noqa: E402

ADDRESS = "127.0.0.1:8787"  # the relay's address in the files
NGINX = """\
daemon off;
pid {work}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
    include {work}/relay.conf;
}}
"""


def start(stack, name, ports, routed=False):
    """Starts caddy, nginx or haproxy in front of the relays on these ports; `routed` enables the lines for several.

    Returns the program with its `port`, and `curl`, the words before a request.
    """
    work, port = stack.directory, free_port()
    certificate, _ = make_certificate(work)
    command, environment = {"caddy": caddy, "nginx": nginx, "haproxy": haproxy}[name](work, port, ports, routed)
    proxy = stack.start(name, command, environment={**os.environ, **environment})
    proxy.port, proxy.certificate = port, certificate
    proxy.url = f"https://localhost:{port}"
    proxy.curl = ["curl", "-sS", "-m", "20", "--cacert", certificate, "--resolve", f"localhost:{port}:127.0.0.1"]
    proxy.wait_until_ready(lambda: subprocess.run(
        [*proxy.curl, "-f", "-m", "2", f"{proxy.url}/health"], capture_output=True).returncode == 0)
    return proxy


def example(file, ports, routed, *changes):
    """Returns an example with the addresses of the relays, and with the test's name, ports and certificate."""
    lines = []
    for line in (ROOT / "deploy" / file).read_text().splitlines():
        if routed:
            # Lines to uncomment have no space after the comment sign.
            line = re.sub(r"^(\s+)#([a-z])", r"\1\2", line)
        if ADDRESS not in line:
            lines.append(line)
        elif line.split()[0] == "reverse_proxy":
            lines.append(line.replace(ADDRESS, " ".join(f"127.0.0.1:{port}" for port in ports)))
        else:
            lines += [line.replace(ADDRESS, f"127.0.0.1:{port}").replace("relay1", f"relay{number}")
                      for number, port in enumerate(ports, 1)]
    text = "\n".join(lines) + "\n"
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if not count:
            raise SystemExit(f"deploy/{file} has no line like {pattern}")
    return text


def caddy(work, port, ports, routed):
    text = example(
        "caddy/Caddyfile", ports, routed,
        (r"^relay\.example\.org \{", f"https://localhost:{port} {{\n\tbind 127.0.0.1\n\ttls {work}/tls.pem {work}/tls.key"),
        (r"\A((?:[^{].*\n|\n)*)\{\n", r"\1{\n\tadmin off\n\tauto_https disable_redirects\n"))
    (work / "Caddyfile").write_text(text)
    homes = {name: str(work) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME")}
    return [find_program("caddy", "caddy"), "run", "--config", work / "Caddyfile", "--adapter", "caddyfile"], homes


def nginx(work, port, ports, routed):
    text = example(
        "nginx/relay.conf", ports, routed, (r"listen 443 ", f"listen 127.0.0.1:{port} "), (r"^.*listen \[::\]:443.*\n", ""),
        (r"server_name .*", "server_name localhost;"), (r"ssl_certificate .*", f"ssl_certificate {work}/tls.pem;"),
        (r"ssl_certificate_key .*", f"ssl_certificate_key {work}/tls.key;"))
    (work / "relay.conf").write_text(text)
    (work / "nginx.conf").write_text(NGINX.format(work=work))
    return [find_program("nginx", "nginx-light"), "-p", work, "-e", "stderr", "-c", work / "nginx.conf"], {}


def haproxy(work, port, ports, routed):
    (work / "haproxy.pem").write_text((work / "tls.pem").read_text() + (work / "tls.key").read_text())
    changes = [(r"bind :443 ", f"bind 127.0.0.1:{port} "), (r"^.*bind \[::\]:443 .*\n", ""),
               (r"/etc/haproxy/relay\.pem", f"{work}/haproxy.pem")]
    if os.geteuid() != 0:
        # Only root can switch to HAProxy's user and root directory.
        changes.append((r"^    (chroot|user|group) .*\n", ""))
    (work / "haproxy.cfg").write_text(example("haproxy/haproxy.cfg", ports, routed, *changes))
    return [find_program("haproxy", "haproxy"), "-db", "-f", work / "haproxy.cfg"], {}
