#!/usr/bin/env python3
"""Counts how many events of each secret the relays behind a proxy accept.

usage: routing.py [--register PORT]... URL CERTIFICATE NAME SECRETS EVENTS

Posts EVENTS events for each of SECRETS secrets, named after NAME and sent as Authorization: Bearer. Prints how many secrets
had one event accepted, how many had more, and how many requests failed other than by the limit. --register first registers a
device for each secret with the relay on that port.
"""

import argparse
import hashlib
import http.client
import json
import ssl
import urllib.parse

TIMEOUT = 20  # seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--register", type=int, action="append", default=[])
    parser.add_argument("url", type=urllib.parse.urlsplit)
    parser.add_argument("certificate")
    parser.add_argument("name")
    parser.add_argument("secrets", type=int)
    parser.add_argument("events", type=int)
    options = parser.parse_args()
    secrets = [f"routing-{options.name}-{number}" for number in range(options.secrets)]
    for port in options.register:
        relay = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        for secret in secrets:
            token = hashlib.sha256(secret.encode()).hexdigest()
            if (status := post(relay, "/v1/device/register", secret, {"deviceToken": token})) != 200:
                raise SystemExit(f"registration failed with status {status}")
    context = ssl.create_default_context(cafile=options.certificate)
    proxy = http.client.HTTPSConnection(options.url.hostname, options.url.port, timeout=TIMEOUT, context=context)
    event = {"eventType": "complete", "sessionID": "ses_1"}
    statuses = [[post(proxy, "/v1/event", secret, event) for _ in range(options.events)] for secret in secrets]
    accepted = [events.count(200) for events in statuses]
    failed = sum(status not in (200, 429) for events in statuses for status in events)
    print(accepted.count(1), sum(count > 1 for count in accepted), failed)


def post(connection, path, secret, body):
    connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {secret}"})
    response = connection.getresponse()
    response.read()
    return response.status


main()
