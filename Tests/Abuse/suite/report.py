"""Prints the results of both servers side by side."""


def problems(case, figures, nginx):
    """Describes the limits that the relay missed."""
    found = []
    longest = max(case.longest_ms, case.nginx_factor * nginx.waits[-1] if nginx else 0)
    if figures.waits[-1] > longest:
        found.append(f"a client waited {_milliseconds(figures.waits[-1])}, more than {_milliseconds(longest)}")
    if figures.growth_mib > case.growth_mib:
        found.append(f"the relay grew by {figures.growth_mib:.0f} MiB, more than {case.growth_mib:.0f} MiB")
    if case.log_kib is not None and figures.log_kib > case.log_kib:
        found.append(f"the log grew by {figures.log_kib:,.1f} KiB/s, more than {case.log_kib:.0f} KiB/s")
    if figures.failures:
        found.append(f"{len(figures.failures)} of {len(figures.waits)} requests failed: {figures.failures[0]}")
    return found + figures.problems


def show(rows):
    """Prints the table from rows of (case, relay's figures, nginx's figures or None, problems)."""
    columns = ("p50", "p99", "longest", "failed", "memory", "log")
    cells = [("", "relay", *columns, "nginx", *columns, "limits", "")]
    left = {0, 1, 2 + len(columns), 3 + 2 * len(columns), 4 + 2 * len(columns)}
    for case, relay, nginx, found in rows:
        factor = f" or {case.nginx_factor:g} x nginx" if case.nginx_factor else ""
        log = "" if case.log_kib is None else f", {case.log_kib:.0f} KiB/s"
        limits = f"{_milliseconds(case.longest_ms)}{factor}, {case.growth_mib:.0f} MiB{log}"
        cells.append((case.title, "", *_figures(relay), "", *_figures(nginx), limits, "MISSED" if found else "kept"))
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    print()
    for row in cells:
        print("  ".join(
            text.ljust(width) if column in left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths))).rstrip())
    print("\nWaits are those of a client that sends a request every 25 ms, alternately on a new and on a kept connection. Memory is")
    print("the growth of the server, log the growth of its logs per second. The limits apply to the relay's longest wait, its memory and")
    print("its log; no request may fail.")
    for case, _, _, found in rows:
        for each in found:
            print(f"MISSED: {case.title}: {each}")


def _figures(figures):
    if not figures:
        return ("",) * 6
    return (
        *(_milliseconds(wait) for wait in (figures.quantile(0.5), figures.quantile(0.99), figures.waits[-1])),
        str(len(figures.failures)), f"+{figures.growth_mib:.0f} MiB", f"{figures.log_kib:,.1f} KiB/s")


def _milliseconds(wait):
    return f"{wait / 1000:.1f} s" if wait >= 1000 else f"{wait:.0f} ms" if wait >= 10 else f"{wait:.1f} ms"
