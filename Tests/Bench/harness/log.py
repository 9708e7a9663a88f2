"""Measures the cost of the delivery log: a relay that logs every push in turns with one that logs only failures."""

from statistics import median

from . import wrk
from .programs import pushes_accepted, start_simulator
from .relay import command, serve, unlogged

DEVICES, CONNECTIONS = 100, 4
GOAL = 0.85  # of the events per second without the log
SLOW_MAX = 15  # milliseconds: the goal for the p99 with the log


def measure(workplace):
    workplace.build("relay", "apns-simulator")
    simulator = start_simulator(workplace)
    logging = serve(workplace, simulator, DEVICES, database="log.db")
    plain = serve(workplace, simulator, DEVICES, {"RELAY_LOG": "failures"}, database="plain.db")
    result = workplace.result(f"events, {DEVICES} devices, with log", "/s", "without", goal=GOAL)
    slow = workplace.result("p99 with log", " ms", "goal", most=1)
    latencies = {"p50": [], "p99": []}
    before, pushes = pushes_accepted(simulator), 0
    for turn in range(workplace.runs):
        theirs = wrk.run(workplace, plain, command(workplace, plain, CONNECTIONS, "event"))
        ours = wrk.run(workplace, logging, command(workplace, logging, CONNECTIONS, "event"))
        pushes += (ours["requests"] + theirs["requests"]) * DEVICES
        result.add(ours["rate"], theirs["rate"], ours["cpu"], theirs["cpu"])
        slow.add(ours["p99"] / 1000, SLOW_MAX)
        for name, values in latencies.items():
            values.append(theirs[name] / 1000)
        workplace.progress(result, turn)
    if pushes_accepted(simulator) - before < pushes:
        raise SystemExit("Some devices got no push.")
    result.remark = f"{unlogged(logging.log, 0)} rows dropped"
    slow.remark = ", ".join(f"{name} without {median(values):.1f} ms" for name, values in latencies.items())
