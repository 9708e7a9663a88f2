"""TLS handshakes, each on a connection that is then closed. Nothing costs a server more processor time."""

from suite.case import Case
from suite.programs import tls

CASE = Case(
    "TLS handshakes, 16 connections at once", longest_ms=1_000, growth_mib=64, tls=True,
    # Handshakes saturate the processors, so clients of any server wait.
    nginx_factor=2)


def attack(target, seconds):
    return tls(target, "handshakes", 16, seconds)
