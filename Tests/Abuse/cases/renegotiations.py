"""Requests for renegotiation on TLS 1.2 connections, which are refused one by one."""

from suite.case import Case
from suite.programs import tls

CASE = Case("TLS 1.2 renegotiations, 1 connection", longest_ms=1_000, growth_mib=16, tls=True)


def attack(target, seconds):
    return tls(target, "renegotiations", 1, seconds)
