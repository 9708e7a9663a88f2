"""What a case is: a file under cases/ with a CASE and a function attack(target, seconds)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One kind of abuse, and how much of it another client and the machine may feel."""

    title: str
    longest_ms: float  # the longest wait of a well-behaved client
    growth_mib: float  # what the relay may grow by meanwhile
    tls: bool = False  # whether attackers and the well-behaved client use TLS
    settle: float = 1  # seconds under load before the client asks
    nginx_factor: float = 0  # the wait may be longer, up to nginx' own times this
    settings: tuple = ()  # settings of the relay beyond the suite's own, as pairs of name and value
    nginx: bool = True  # whether nginx can be put under the same load


@dataclass(frozen=True)
class Target:
    """A server under attack, as an attacker sees it."""

    host: str
    port: int
    connections: int  # that the server has room for
    per_address: int  # that it grants one address
    attacker: str  # the compiled tls.c


def addresses(count):
    """Addresses of loopback to attack from."""
    return [f"127.0.1.{number}" for number in range(1, count + 1)]
