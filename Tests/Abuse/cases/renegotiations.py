"""TLS 1.2 renegotiation flood: the server refuses each request with an alert."""

from suite.case import Case
from suite.programs import tls

CASE = Case("TLS 1.2 renegotiations, 1 connection", longest_ms=1_000, growth_mib=16, tls=True)


def attack(target, seconds):
    return tls(target, "renegotiations", 1, seconds)
