"""An adapter that follows a rule and no model: it names the item whose colour the prompt asks for."""

import json
import os
import sys

request = json.loads(sys.stdin.readline())
words = request["prompt"].lower().split()
items = [word for word in words if word.startswith("item_")]
colours = [word.strip(".,") for word in words if word.startswith("colour:")]
wanted = colours[0].partition(":")[2] if colours else ""
chosen = next((item for item in items if wanted and wanted in item), None)
output = json.dumps({"item": chosen}) if request["turn"] > 1 else "understood"
reply = {
    "request_id": "clerk-" + os.urandom(8).hex(),
    "provider": "rule",
    "cache_hit": False,
    "token_usage": {"input_tokens": len(words), "output_tokens": 1},
    "output": output,
}
print(json.dumps(reply))
