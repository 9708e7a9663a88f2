"""Prints the results as a table: median and range of the runs, the reference, and the median of the pairs' ratios."""

import os
from statistics import median


def goals_reached(workplace):
    return all(result.reached for result in workplace.results)


def show(workplace):
    rows = [("", "relay", "range", "reference", "", "range", "ratio", "CPU us", "ref. us", "")]
    rows += [_row(result) for result in workplace.results]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{_machine()}\n")
    for row in rows:
        cells = [text.ljust(width) if column in (0, 3, 9) else text.rjust(width)
                 for column, (text, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
    print(f"\nMedians of {workplace.runs} runs with minimum and maximum; the ratio is the median of the pairs' ratios.")
    print("Relay and reference alternate. CPU: microseconds of processor time per push, request or event.")
    if workplace.keep:
        _show_commands(workplace)
    else:
        print("With --keep DIRECTORY the individual commands are listed, to run by hand.")


def _show_commands(workplace):
    print("\nCommands:")
    print(f"  BENCH={workplace.directory}")
    for name, (_, made_by) in workplace.names.items():
        print(f"  {name}=$({made_by})")
    for command in workplace.commands:
        print(f"  {command}")


def _machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown processor")
    return f"{os.cpu_count()} x {model}, Linux {os.uname().release}, load {os.getloadavg()[0]:.1f} at the end"


def _row(result):
    verdict = result.remark
    if result.goal or result.most:
        wanted = result.goal or f"at most {result.most}"
        verdict = f"goal {wanted}: {'reached' if result.reached else 'MISSED'}  {verdict}".rstrip()
    return (
        result.name, _number(median(result.ours)) + result.unit, _range(result.ours), result.reference,
        _number(median(result.theirs)) + result.unit, _range(result.theirs), f"{result.ratio:.2f}",
        _cpu(result.cpu_ours), _cpu(result.cpu_theirs), verdict)


def _number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _cpu(values):
    return f"{median(values):.1f}" if values else ""


def _range(values):
    return f"{_number(min(values))}-{_number(max(values))}"
