"""Key updates of TLS 1.3, one after the other: each costs the server far more than the attacker, and carries no data."""

from suite.case import Case
from suite.programs import tls

CASE = Case("TLS key updates, 4 connections", longest_ms=1_000, growth_mib=16, tls=True)


def attack(target, seconds):
    return tls(target, "key-updates", 4, seconds)
