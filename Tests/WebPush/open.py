"""Opens messages and verifies a token, for Tests/WebPushTests/OtherImplementationTests.swift.

usage: open.py JSON      with privateKey (the user agent's), auth, bodies, authorization, vapidKey
"""

import base64
import json
import sys

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


given = json.loads(sys.argv[1])
private_key = ec.derive_private_key(int.from_bytes(decoded(given["privateKey"]), "big"), ec.SECP256R1())
texts = [encoded(http_ece.decrypt(decoded(body), private_key=private_key, auth_secret=decoded(given["auth"]),
                                  version="aes128gcm")) for body in given["bodies"]]
# py_vapid splits at the last space; RFC 8292 has one before k.
authorization = given["authorization"].replace(", k=", ",k=")
claims = authorization.split("t=")[1].split(",")[0].split(".")[1]
public_key = Vapid02.from_string(given["vapidKey"]).public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
print(json.dumps({"texts": texts, "isValid": Vapid02.verify(authorization), "claims": json.loads(decoded(claims)),
                  "publicKey": encoded(public_key)}))
