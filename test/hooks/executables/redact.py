#!/usr/bin/env python3
"""post_tool_use: what looks like a key is not shown to the model."""
import json
import re
import sys

content = json.load(sys.stdin)["result"]["content"]
for item in content:
    item["text"] = re.sub(r"key-[0-9a-f]+", "[redacted]", item["text"])
print(json.dumps({"power": "mutate", "patch": {"content": content}}))
