#!/usr/bin/env python3
"""The event builder in Python: builds what a CloudEvent asks for, once, however often it is delivered.

    PYTHONPATH=clients/python/src ONCE_STORE=./state PORT=8080 examples/event_builder/builder.py

POST / takes an event in structured mode. A duplicate gets the first one's answer, one whose build is under way 409, and one
whose build failed is built again. The log `builds` and a count for each type are committed with the result.
"""
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import once

TTL = {"network.notifi.lambda.build.start": "1h"}  # How long a duplicate is known, by type; 24h otherwise.


def build(event):
    """Stands for the real one. Tells its image, or raises."""
    if event.get("data", {}).get("broken"):
        raise RuntimeError("the build failed")
    return f"registry/{event['data']['name']}@{event['id']}"


def handle(client, event):
    """Status and answer. Identity is source and id; both go into the key with their lengths, so that no two share one."""
    for name in ("id", "source", "type"):
        if not isinstance(event.get(name), str) or not event[name]:
            return 400, {"error": f"no CloudEvent: {name} is missing"}

    def work(attempt):
        image = build(event)
        attempt.effects.append("builds", {"event": event["id"], "image": image}).count(f"built-{event['type']}")
        return {"image": image}

    key = f"build/{len(event['source'])}:{event['source']}{event['id']}"
    try:
        outcome = client.run(key, work, ttl=TTL.get(event["type"], "24h"), payload=event)
    except once.Busy:
        return 409, {"status": "busy", "event_id": event["id"]}
    except once.Mismatch:
        return 422, {"status": "mismatch", "event_id": event["id"]}
    except RuntimeError as error:
        return 502, {"status": "failed", "event_id": event["id"], "error": str(error)}
    status = "skipped" if outcome.replayed else "processed"
    return 200, {"status": status, "event_id": event["id"], **outcome.result}


class Receiver(BaseHTTPRequestHandler):
    client = None

    def do_POST(self):
        try:
            event = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
            status, answer = handle(self.client, event if isinstance(event, dict) else {})
        except ValueError:
            status, answer = 400, {"error": "no JSON"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    Receiver.client = once.connect()
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
