"""Idle connections from sixteen addresses, enough to fill the server; closed ones are replaced."""

from suite.case import Case
from suite.idle import occupy

CASE = Case("idle connections from 16 addresses", longest_ms=1_000, growth_mib=32, settle=4)


def attack(target, seconds):
    return occupy(target, seconds, 16)
