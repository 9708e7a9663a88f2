"""The figures as a table, both servers side by side, and what missed its limit."""


def problems(case, figures, nginx):
    """What of the relay's figures is over the case's limits."""
    found = []
    longest = max(case.longest_ms, case.nginx_factor * nginx.waits[-1] if nginx else 0)
    if figures.waits[-1] > longest:
        found.append(f"a client waited {_milliseconds(figures.waits[-1])}, more than {_milliseconds(longest)}")
    if figures.growth_mib > case.growth_mib:
        found.append(f"the relay grew by {figures.growth_mib:.0f} MiB, more than {case.growth_mib:.0f} MiB")
    if figures.failures:
        found.append(f"{len(figures.failures)} of {len(figures.waits)} requests failed: {figures.failures[0]}")
    if figures.attacker in ("failed", "did not end"):
        found.append(f"the attacker {figures.attacker}")
    return found


def show(rows):
    """Prints the table; a row is a case, the relay's figures, nginx' figures or None, and problems."""
    cells = [("", "relay", "p50", "p99", "longest", "failed", "memory", "nginx", "p50", "p99", "longest", "failed", "memory", "limits", "")]
    for case, relay, nginx, found in rows:
        factor = f" or {case.nginx_factor:g} x nginx" if case.nginx_factor else ""
        limits = f"{_milliseconds(case.longest_ms)}{factor}, {case.growth_mib:.0f} MiB"
        cells.append((case.title, "", *_figures(relay), "", *_figures(nginx), limits, "MISSED" if found else "kept"))
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    print()
    for row in cells:
        print("  ".join(
            text.ljust(width) if column in (0, 1, 7, 13, 14) else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths))).rstrip())
    print("\nWaits of a client that sends a request every 25 ms, on new connections and on one that is kept; memory by which")
    print("the server grew. Limits are the relay's: the longest wait and the memory; no request may fail.")
    for case, _, _, found in rows:
        for each in found:
            print(f"MISSED: {case.title}: {each}")


def _figures(figures):
    if not figures:
        return ("",) * 5
    return (
        *(_milliseconds(wait) for wait in (figures.quantile(0.5), figures.quantile(0.99), figures.waits[-1])),
        str(len(figures.failures)), f"+{figures.growth_mib:.0f} MiB")


def _milliseconds(wait):
    return f"{wait / 1000:.1f} s" if wait >= 1000 else f"{wait:.0f} ms" if wait >= 10 else f"{wait:.1f} ms"
