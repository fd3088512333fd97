"""Answers as a process: one line of JSON in, one out."""

import json
import os
import sys

request = json.loads(sys.stdin.readline())
text, context = request["input_text"], request["context"]
print("checkout: a line that is no answer")
if "crash" in text:
    sys.exit("card reader not found")
if "empty" in text:
    print(json.dumps({"output": "forgot to say success"}))
    sys.exit()
ok = "voucher" not in text or os.environ.get("CHECKOUT_RELEASE") == "2"
reply = {
    "success": ok,
    "output": f"{context['persona'] or 'somebody'}: paid" if ok else "",
    "duration_ms": 40 * len(text.split()),
    "token_usage": {"input_tokens": len(text), "output_tokens": 9, "total_tokens": len(text) + 9},
    "tool_calls": [{"name": "charge", "arguments": {"amount": 12.5}}],
}
if not ok:
    reply["error"] = {"message": "voucher has expired"}
print(json.dumps(reply))
