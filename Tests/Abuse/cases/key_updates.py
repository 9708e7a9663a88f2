"""TLS 1.3 KeyUpdate flood: messages that carry no data and make the server derive new keys."""

from suite.case import Case
from suite.programs import tls

CASE = Case("TLS key updates, 4 connections", longest_ms=1_000, growth_mib=16, tls=True)


def attack(target, seconds):
    return tls(target, "key-updates", 4, seconds)
