"""Requests of which each byte comes in a TLS record of its own."""

from suite.case import Case
from suite.programs import tls

CASE = Case("TLS records of a byte, 8 connections", longest_ms=1_000, growth_mib=16, tls=True)


def attack(target, seconds):
    return tls(target, "tiny-records", 8, seconds)
