"""As many idle connections from sixteen addresses as the server has room for, each made anew when it is closed."""

from suite.case import Case
from suite.idle import occupy

CASE = Case("idle connections from 16 addresses", longest_ms=1_000, growth_mib=32, settle=4)


def attack(target, seconds):
    return occupy(target, seconds, 16)
