"""The figures as a table: medians of the runs with their range, the reference, and the median ratio of the pairs."""

from statistics import median


def ratio(result):
    """The median of each run's own ratio: both sides of a pair met the same machine."""
    return median(ours / theirs for ours, theirs in zip(result.ours, result.theirs))


def goals_reached(workplace):
    return all(not result.goal or ratio(result) >= result.goal for result in workplace.results)


def show(workplace):
    rows = [("", "relay", "range", "reference", "range", "ratio", "CPU us", "ref. us", "")]
    for result in workplace.results:
        rows.append(_row(result))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print()
    for row in rows:
        cells = [text.ljust(width) if column in (0, 8) else text.rjust(width)
                 for column, (text, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
    print(f"\nMedians of {workplace.runs} runs, range from least to most; the ratio is the median of the pairs' ratios.")
    print("Ours and the reference take turns. CPU: microseconds of processor time for one.")
    _show_commands(workplace)


def _show_commands(workplace):
    if not workplace.commands:
        return
    print("\nOne of them alone, after a run with --keep DIRECTORY (and the server running):")
    print(f"  BENCH={workplace.keep or 'DIRECTORY'}")
    print("  TOKEN=$(.build/release/Bench token --key $BENCH/client/key.p8)")
    for command in workplace.commands:
        print(f"  {command}")


def _row(result):
    verdict = result.remark
    if result.goal:
        reached = "reached" if ratio(result) >= result.goal else "MISSED"
        verdict = f"goal {result.goal}: {reached}" + (f"; {verdict}" if verdict else "")
    return (
        result.name, _number(median(result.ours)) + result.unit, _range(result.ours),
        _number(median(result.theirs)) + result.unit if result.theirs else "", _range(result.theirs),
        f"{ratio(result):.2f}" if result.theirs else "", _cpu(result.cpu_ours), _cpu(result.cpu_theirs),
        f"{result.reference}; {verdict}" if verdict and result.reference else result.reference or verdict)


def _number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _range(values):
    return f"{_number(min(values))}-{_number(max(values))}" if values else ""


def _cpu(values):
    return f"{median(values):.1f}" if values else ""
