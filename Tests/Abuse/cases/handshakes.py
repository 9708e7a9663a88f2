"""Handshakes one after the other, each on a connection that ends at once: nothing costs a server more than these."""

from suite.case import Case
from suite.programs import tls

CASE = Case(
    "TLS handshakes, 16 connections at once", longest_ms=1_000, growth_mib=64, tls=True,
    # They take all of the machine's processors, so that any server's clients wait.
    nginx_factor=2)


def attack(target, seconds):
    return tls(target, "handshakes", 16, seconds)
