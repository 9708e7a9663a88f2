"""Runs the attacker tls.c."""

import re
import subprocess

from .case import addresses

PATIENCE = 5  # seconds that it may overrun


def tls(target, mode, count, seconds):
    """Runs several processes of tls.c from different addresses; returns their totals."""
    sources = addresses(16)
    processes = [
        subprocess.Popen(
            [target.attacker, mode, target.host, str(target.port), sources[number % len(sources)], str(seconds)],
            stdout=subprocess.PIPE, text=True)
        for number in range(count)]
    totals = [0, 0]
    try:
        for process in processes:
            output, _ = process.communicate(timeout=seconds + PATIENCE)
            for index, number in enumerate(re.findall(r"\d+", output)):
                totals[index] += int(number)
    finally:
        for process in processes:
            process.kill()
    return f"{totals[0]:,} connections, {totals[1]:,} messages"
