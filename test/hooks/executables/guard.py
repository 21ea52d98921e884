#!/usr/bin/env python3
"""pre_tool_use: no shell command may remove the treasure; every other call is left alone."""
import json
import sys

call = json.load(sys.stdin)["toolCall"]
command = call["input"].get("command", "")
if call["name"] == "bash" and "rm " in command and "treasure" in command:
    print(json.dumps({"power": "block", "reason": "The treasure stays."}))
else:
    print(json.dumps({"power": "observe"}))
