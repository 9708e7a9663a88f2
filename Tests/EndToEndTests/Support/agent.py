"""Runs a hook as an agent does: agent.py CALL PROGRAM ARGUMENT...

CALL is JSON: `input`, which the hook gets on standard input, and `timeout`, after which it gets SIGTERM. Prints `started`
and at the end a JSON object: the exit status, both outputs, and whether its time had run out. SIGTERM is passed on, as when
the request is answered at the desk. SIGUSR1 is a closed terminal: the agent ends, and the hook stays.
"""

import json
import os
import signal
import subprocess
import sys

call, command = json.loads(sys.argv[1]), sys.argv[2:]
# The hook waits only a second for its input, so all of it is in the pipe before the hook starts.
reading, writing = os.pipe()
os.write(writing, json.dumps(call["input"]).encode())
os.close(writing)
hook = subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: hook.send_signal(signal.SIGTERM))
signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))
print("started", flush=True)
late = False
try:
    out, errors = hook.communicate(timeout=call.get("timeout", 600))
except subprocess.TimeoutExpired:
    late = True
    hook.send_signal(signal.SIGTERM)
    out, errors = hook.communicate()
print(json.dumps({"status": hook.returncode, "out": out.decode(), "errors": errors.decode(), "late": late}), flush=True)
