#!/usr/bin/env python3
"""PreToolUse: a permission decision for each shell command; every other tool is left alone."""
import json
import sys

call = json.load(sys.stdin)
if call["hook_event_name"] != "PreToolUse":
    sys.exit("this is no PreToolUse hook")
if call["tool_name"] == "Bash":
    said = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    if "treasure" in call["tool_input"].get("command", ""):
        said["permissionDecision"] = "deny"
        said["permissionDecisionReason"] = "Leave the treasure where it is."
    print(json.dumps({"hookSpecificOutput": said}))
