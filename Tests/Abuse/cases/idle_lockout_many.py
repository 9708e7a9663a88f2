"""Idle connections that fill the server, from so many addresses that none has more of them than an honest client."""

from suite.case import Case
from suite.idle import occupy

CASE = Case("idle connections from 250 addresses", longest_ms=1_000, growth_mib=32, settle=4)


def attack(target, seconds):
    return occupy(target, seconds, 250)
