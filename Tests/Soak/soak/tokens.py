"""Device tokens."""

import secrets


def new_token():
    """A device token that no run has seen."""
    return secrets.token_hex(32)


def masked(token):
    """A token as answers show it."""
    return "…" + token[-8:]
