"""Sends messages to a push service, for Tests/APNsSimulatorTests/EndToEnd/PythonSenderTests.swift.

usage: send.py JSON      with endpoint, p256dh, auth, certificate, texts; prints the statuses
"""

import base64
import http.client
import json
import ssl
import sys
from urllib.parse import urlsplit

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


given = json.loads(sys.argv[1])
endpoint = urlsplit(given["endpoint"])
vapid = Vapid02()
vapid.generate_keys()
token = vapid.sign({"sub": "mailto:push@example.com", "aud": f"{endpoint.scheme}://{endpoint.netloc}"})
connection = http.client.HTTPSConnection(
    endpoint.netloc, timeout=20, context=ssl.create_default_context(cafile=given["certificate"]))
statuses = []
for text in given["texts"]:
    body = http_ece.encrypt(text.encode(), private_key=ec.generate_private_key(ec.SECP256R1()), dh=decoded(given["p256dh"]),
                            auth_secret=decoded(given["auth"]), version="aes128gcm")
    connection.request("POST", endpoint._replace(scheme="", netloc="").geturl(), body, {
        **token, "TTL": "60", "Urgency": "high", "Content-Encoding": "aes128gcm", "X-WNS-Cache-Policy": "cache"})
    response = connection.getresponse()
    response.read()
    statuses.append(response.status)
print(json.dumps(statuses))
