"""Device tokens."""

import secrets


def new_token():
    """A device token that no run has seen."""
    return secrets.token_hex(32)


def masked(token):
    """A token as it appears in responses."""
    return "…" + token[-8:]
