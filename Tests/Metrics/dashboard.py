"""Checks the Grafana dashboard: its structure, and every query against the metrics that a Prometheus has scraped."""

import json
import math
import re
import urllib.parse
from itertools import combinations
from pathlib import Path
from urllib.error import HTTPError

from launch.processes import Failure, wait_until
from launch.programs import request

FILE = Path("deploy/grafana/relay.json")
WIDTH = 24  # columns of Grafana's grid
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
UNITS = {"none", "short", "s", "bytes", "percentunit", "ops", "reqps"}
VARIABLES = ["datasource", "job", "instance"]
VALUES = {"$job": "relay", "$instance": ".*", "$__rate_interval": "1m"}
DEADLINE = 30  # seconds until each query must have a result


def load():
    return json.loads(FILE.read_text())


def overlap(one, other):
    return all(one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in (("x", "w"), ("y", "h")))


def faults_of(panel, alerts):
    """Returns what is wrong with a panel, apart from its queries' results."""
    place, targets = panel["gridPos"], panel.get("targets", [])
    selectors = [selector for target in targets for selector in re.findall(r"\{[^{}]*\}", target["expr"])]
    checks = {
        "no title": panel["title"],
        "beyond the grid": place["x"] >= 0 and place["w"] > 0 and place["x"] + place["w"] <= WIDTH,
    }
    if panel["type"] != "row":
        defaults = panel["fieldConfig"]["defaults"]
        checks |= {
            "no description": panel.get("description"),
            "not the datasource of the variable": panel["datasource"] == DATASOURCE,
            "unknown unit": defaults["unit"] in UNITS,
            "no query": targets,
            "a query's refId twice": len({target["refId"] for target in targets}) == len(targets),
            "no legend": all(target["legendFormat"] for target in targets),
            "a selector without the variables": all(
                'job=~"$job",instance=~"$instance"' in selector or "alertname" in selector for selector in selectors),
            "an unknown alert": set(re.findall(r"\bRelay[A-Z]\w+", panel.get("description", ""))) <= alerts,
        }
    return [f"{panel['title']}: {fault}" for fault, is_well in checks.items() if not is_well]


def check_structure(alerts):
    """Exits with a message if the dashboard is faulty; `alerts` are the names of the rules."""
    dashboard = load()
    panels = dashboard["panels"]
    faults = [fault for panel in panels for fault in faults_of(panel, alerts)]
    faults += [f"{one['title']} and {other['title']} overlap or have the same id" for one, other in combinations(panels, 2)
               if one["id"] == other["id"] or overlap(one["gridPos"], other["gridPos"])]
    if [variable["name"] for variable in dashboard["templating"]["list"]] != VARIABLES:
        faults.append(f"its variables are not {VARIABLES}")
    if faults:
        raise Failure(f"{FILE}: " + "\n".join(faults))


def queries():
    """Returns each query of a panel or variable with its place, expression and the labels that it must have."""
    dashboard = load()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"], re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
    for variable in dashboard["templating"]["list"][1:]:
        selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
        yield f"variable {variable['name']}", selector, [label]


def fault_of(prometheus, expression, labels):
    """Returns what is wrong with the result of a query, if anything."""
    for variable, value in VALUES.items():
        expression = expression.replace(variable, value)
    try:
        body = json.loads(request(f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"))
    except HTTPError as error:
        return json.loads(error.read())["error"]
    series = body["data"]["result"]
    if not any(math.isfinite(float(one["value"][1])) for one in series):
        return "has no value"
    absent = [label for label in labels if not any(label in one["metric"] for one in series)]
    return f"has no label {absent[0]} for its legend" if absent else None


def check_queries(prometheus):
    """Waits until each query has a result; Grafana shows "No data" for one that has none. Returns the number of queries."""
    left = list(queries())
    count = len(left)

    def is_done():
        left[:] = [query for query in left if fault_of(prometheus, *query[1:])]
        return not left

    try:
        wait_until(is_done, "some query has no result", DEADLINE)
    except Failure:
        raise Failure(f"{FILE}: " + "\n".join(
            f"{place}: {expression}: {fault_of(prometheus, expression, labels)}" for place, expression, labels in left)) from None
    return count
