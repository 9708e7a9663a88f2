"""A case is a file in cases/ that defines CASE and attack(target, seconds).

The attack may return a remark for the log, and raises Missed if it got through."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One kind of attack and the limits that the relay must stay within during it."""

    title: str
    longest_ms: float  # the longest time that a well-behaved client waits
    growth_mib: float  # growth of the relay's memory
    log_kib: float = 8  # growth of the relay's log per second; None for no limit
    tls: bool = False  # for the attacker and the well-behaved client
    settle: float = 1  # seconds of attack before the measurement begins
    nginx_factor: float = 0  # allows a longer wait: nginx's own times this factor
    settings: tuple = ()  # further relay settings, as (name, value) pairs
    nginx: bool = True  # whether to also run the case against nginx


class Missed(Exception):
    """The server allowed the attack more than it should; the message gives the details."""


@dataclass(frozen=True)
class Target:
    """The server to attack."""

    host: str
    port: int
    connections: int  # the server's limit
    per_address: int  # the server's limit per address
    attacker: str  # path of the compiled tls.c


def addresses(count):
    """Returns loopback addresses to attack from."""
    return [f"127.0.1.{number}" for number in range(1, count + 1)]
