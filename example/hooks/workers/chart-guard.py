#!/usr/bin/env python3
"""pre_tool_use, as a worker: charts are never deleted. What is slow to begin with, imports and all, is paid once."""
import json
import re
import sys


def decide(event):
    call = event["toolCall"]
    if call["name"] == "bash" and re.search(r"\brm\b.*\bcharts/", call["input"].get("command", "")):
        return {"power": "block", "reason": "Charts are never deleted."}
    return {"power": "observe"}


for line in sys.stdin:
    request = json.loads(line)
    # Without the flush the answer would wait in a buffer until it is too late.
    print(json.dumps({"id": request["id"], "result": decide(request["event"])}), flush=True)
