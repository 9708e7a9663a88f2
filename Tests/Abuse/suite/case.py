"""A case is a file in cases/ that defines CASE and attack(target, seconds).

The attack may return a remark for the log, and raises Missed if it got through."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One kind of attack and the limits that the relay must keep under it."""

    title: str
    longest_ms: float  # the longest wait of a well-behaved client
    growth_mib: float  # growth of the relay's memory
    log_kib: float = 8  # growth of the relay's log per second; None for no limit
    tls: bool = False  # for the attacker and the well-behaved client
    settle: float = 1  # seconds of attack before the measurement begins
    nginx_factor: float = 0  # allows a longer wait: nginx's own times this factor
    settings: tuple = ()  # further settings of the relay, as (name, value) pairs
    nginx: bool = True  # whether to run the case against nginx, too


class Missed(Exception):
    """The server allowed the attack more than it should; the message says what."""


@dataclass(frozen=True)
class Target:
    """The server to attack."""

    host: str
    port: int
    connections: int  # limit of the server
    per_address: int  # limit of the server
    attacker: str  # path of the compiled tls.c


def addresses(count):
    """Addresses of loopback to attack from."""
    return [f"127.0.1.{number}" for number in range(1, count + 1)]
