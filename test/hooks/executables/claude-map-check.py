#!/usr/bin/env python3
"""Stop: sends the model back when it says done without a map."""
import json
import sys

turn = json.load(sys.stdin)
if not turn["stop_hook_active"] and "map" not in turn["last_assistant_message"]:
    print("Draw the map before you say done.", file=sys.stderr)
    sys.exit(2)
