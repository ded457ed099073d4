"""Every request and answer of the API that one server on a fresh store gives."""
import re

from wire import Connection, Names, Program, as_text, request_bytes, written

CREATE = ["If-None-Match: *"]
MATCH = ['If-Match: $etag']
STALE = ['If-Match: "0123456789abcdef"']
MERGE = ["Content-Type: application/merge-patch+json"]
PATCH = ["Content-Type: application/json-patch+json"]
JSON = ["Content-Type: application/json"]
LINES = ["Content-Type: text/plain"]
NDJSON = ["Content-Type: application/x-ndjson"]
EXACT = ["Once-Bytes: base64url"]
STRUCTURED = ["Content-Type: application/cloudevents+json"]
BATCH = ["Content-Type: application/cloudevents-batch+json"]
BEARER = ["Authorization: Bearer $token"]
FIRST = ["Authorization: Bearer $first_token"]


def key(name):
    return [f"Idempotency-Key: {name}"]


def in_space(name):
    return [f"Once-Namespace: {name}"]


def event(kind, number="1", data='"x"'):
    return f'{{"specversion":"1.0","id":"{number}","source":"/golden","type":"{kind}","data":{data}}}'


# name: steps; a step is method, target, headers, body. $ticket, $etag, $token, $id and $cursor are what an answer
# before gave last, and $first_token what one gave first.
PAGES = {
    "pages": [
        ("GET", "/"), ("GET", "/healthz"), ("HEAD", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.yaml"),
        ("GET", "/v1/hot"), ("GET", "/v1/hot?x=1"),
        ("GET", "/v1/namespaces?prefix=default"), ("GET", "/v1/namespaces?limit=0"), ("GET", "/v1/routes"),
        ("GET", "/v1/workers"), ("GET", "/v1/workers?limit=0"),
        ("GET", "/v1/history?after=9999-01-01T00:00:00Z"), ("GET", "/v1/history?after=soon"), ("GET", "/v1/doctor?x=1"),
    ],
    "no such path or method": [
        ("GET", "/nothing"), ("GET", "/v1/claims/a/b"), ("POST", "/v1/unknown", [], "{}"), ("OPTIONS", "/v1/claims/c"),
        ("TRACE", "/v1/docs/d"), ("PUT", "/healthz", [], ""), ("OPTIONS", "/v1/commit"), ("DELETE", "/v1/seen"),
    ],
    "a request id is kept": [("GET", "/readyz", ["X-Request-Id: mine-1"])],
}

CLAIMS = {
    "a claim is taken, busy, renewed, completed and replayed": [
        ("POST", "/v1/claims/c1", [], '{"owner":"me","request":"r","lease":"30s","ttl":"24h","payload":"p","wait":"0s"}'),
        ("POST", "/v1/claims/c1", [], '{"request":"r","payload":"p"}'),
        ("POST", "/v1/claims/c1", JSON, '{"payload":"p"}'),
        ("POST", "/v1/claims/c1", [], '{"payload":"q"}'),
        ("GET", "/v1/claims/c1"), ("HEAD", "/v1/claims/c1"),
        ("POST", "/v1/claims/c1/renew", [], '{"ticket":"$ticket","lease":"1m"}'),
        ("POST", "/v1/claims/c1/complete", [], '{"ticket":"$ticket","result":{"n":1,"a":[true,null,"ü"]}}'),
        ("POST", "/v1/claims/c1/complete", [], '{"ticket":"$ticket","result":{"n":1,"a":[true,null,"ü"]}}'),
        ("POST", "/v1/claims/c1/complete", [], '{"ticket":"$ticket","result":2}'),
        ("POST", "/v1/claims/c1/renew", [], '{"ticket":"$ticket"}'),
        ("POST", "/v1/claims/c1", [], '{"payload":"p"}'),
        ("GET", "/v1/claims/c1"),
        ("GET", "/v1/claims/c1", EXACT),
        ("DELETE", "/v1/claims/c1"), ("GET", "/v1/claims/c1"), ("DELETE", "/v1/claims/c1"),
        ("POST", "/v1/claims/c1/complete", [], '{"ticket":"$ticket","result":2}'),
    ],
    "without a body, and without a result": [
        ("POST", "/v1/claims/c2"), ("POST", "/v1/claims/c2/complete", [], '{"ticket":"$ticket"}'), ("GET", "/v1/claims/c2"),
    ],
    "a claim is released, taken again, and fails for good": [
        ("POST", "/v1/claims/c3", [], "{}"),
        ("POST", "/v1/claims/c3/release", [], '{"ticket":"$ticket","failure":"once more","final":false}'),
        ("POST", "/v1/claims/c3/release", [], '{"ticket":"$ticket","failure":"once more","final":false}'),
        ("GET", "/v1/claims/c3"),
        ("POST", "/v1/claims/c3", [], '{"owner":"next"}'),
        ("POST", "/v1/claims/c3/release", [], '{"ticket":"$ticket","failure":{"why":"never"},"final":true}'),
        ("POST", "/v1/claims/c3/release", [], '{"ticket":"$ticket","failure":{"why":"never"},"final":true}'),
        ("POST", "/v1/claims/c3/complete", [], '{"ticket":"$ticket","result":1}'),
        ("POST", "/v1/claims/c3", [], "{}"), ("GET", "/v1/claims/c3"),
    ],
    "a fenced ticket": [
        ("POST", "/v1/claims/c4", [], "{}"), ("DELETE", "/v1/claims/c4"),
        ("POST", "/v1/claims/c4/renew", [], '{"ticket":"$ticket"}'),
        ("POST", "/v1/claims/c4/complete", [], '{"ticket":"$ticket"}'),
        ("POST", "/v1/claims/c4/release", [], '{"ticket":"$ticket"}'),
    ],
    "bytes in their exact form": [
        ("POST", "/v1/claims/c5", EXACT, '{"payload":"AAEC_w"}'),
        ("POST", "/v1/claims/c5/complete", EXACT, '{"ticket":"$ticket","result":"_wAB"}'),
        ("POST", "/v1/claims/c5", EXACT, '{"payload":"AAEC_w"}'),
        ("GET", "/v1/claims/c5", EXACT),
        ("POST", "/v1/claims/c5", EXACT, '{"payload":"?"}'),
        ("POST", "/v1/claims/c5", ["Once-Bytes: hex"], "{}"),
    ],
    "a name with a slash, and names that are none": [
        ("POST", "/v1/claims/a%2Fb%20%C3%BC", [], "{}"), ("GET", "/v1/claims/a%2Fb%20%C3%BC"),
        ("GET", "/v1/claims/%00"), ("GET", "/v1/claims/%ff"), ("GET", "/v1/claims/%zz"), ("GET", "/v1/claims/" + "n" * 513),
        ("GET", "/v1/claims/x", in_space("a/b")),
    ],
    "requests that are refused": [
        ("POST", "/v1/claims/c6", [], '{"leese":"1s"}'), ("POST", "/v1/claims/c6", [], "{"),
        ("POST", "/v1/claims/c6", [], "[]"), ("POST", "/v1/claims/c6", [], '{"lease":"soon"}'),
        ("POST", "/v1/claims/c6", [], '{"lease":"0s"}'), ("POST", "/v1/claims/c6", [], '{"owner":1,"ttl":"-1s"}'),
        ("POST", "/v1/claims/c6/renew", [], "{}"), ("POST", "/v1/claims/c6/complete", [], "{}"),
        ("POST", "/v1/claims/c6/release", [], "{}"), ("POST", "/v1/claims/c6/renew", [], '{"ticket":"nonsense"}'),
        ("GET", "/v1/claims/c6?x=1"), ("DELETE", "/v1/claims/c6?x=1"), ("GET", "/v1/claims/c6"),
    ],
    "listings": [
        ("GET", "/v1/claims", in_space("list")),
        ("POST", "/v1/claims/l1", in_space("list"), '{"owner":"me"}'),
        ("POST", "/v1/claims/l2", in_space("list"), "{}"),
        ("POST", "/v1/claims/l2/complete", in_space("list"), '{"ticket":"$ticket","result":"ok"}'),
        ("POST", "/v1/claims/l3", in_space("list"), "{}"),
        ("POST", "/v1/claims/l3/release", in_space("list"), '{"ticket":"$ticket","failure":"no","final":true}'),
        ("POST", "/v1/seen", in_space("list"), '{"ids":["l4"]}'),
        ("GET", "/v1/claims", in_space("list")),
        ("GET", "/v1/claims", in_space("list") + EXACT),
        ("GET", "/v1/claims?state=busy", in_space("list")), ("GET", "/v1/claims?state=done", in_space("list")),
        ("GET", "/v1/claims?state=failed", in_space("list")), ("GET", "/v1/claims?state=odd", in_space("list")),
        ("GET", "/v1/claims?limit=1", in_space("list")), ("GET", "/v1/claims?limit=1&cursor=$cursor", in_space("list")),
        ("GET", "/v1/claims?limit=0", in_space("list")), ("GET", "/v1/claims?cursor=!", in_space("list")),
    ],
    "ids that were seen": [
        ("POST", "/v1/seen", [], '{"ids":["s1","s2","s1"],"ttl":"1h","request":"r"}'),
        ("POST", "/v1/seen", [], '{"ids":["s1","s2","s1"],"ttl":"1h","request":"r"}'),
        ("POST", "/v1/seen", [], '{"ids":["s1","s3"]}'),
        ("GET", "/v1/claims/s3"), ("POST", "/v1/claims/s3", [], "{}"),
        ("POST", "/v1/seen", [], '{"ids":[]}'), ("POST", "/v1/seen", [], "{}"), ("POST", "/v1/seen", [], '{"ids":[1]}'),
        ("POST", "/v1/seen", [], '{"ids":[""]}'),
    ],
    "hot keys": [
        ("POST", "/v1/claims/h", in_space("hot"), "{}"), ("POST", "/v1/claims/h", in_space("hot"), "{}"),
        ("GET", "/v1/hot", in_space("hot")),
    ],
}

LOGS = {
    "events are appended, read and trimmed": [
        ("POST", "/v1/logs/s1", [],
         '{"events":[{"data":{"n":1},"time":"2026-11-15T09:30:00Z"},{"data":2}],"batch":"b","expect":1}'),
        ("POST", "/v1/logs/s1", [],
         '{"events":[{"data":{"n":1},"time":"2026-11-15T09:30:00Z"},{"data":2}],"batch":"b","expect":1}'),
        ("POST", "/v1/logs/s1", [], '{"events":[{"data":3}],"batch":"b"}'),
        ("POST", "/v1/logs/s1", [], '{"events":[{"data":3}],"expect":9}'),
        ("POST", "/v1/logs/s1", LINES, "one\ntwo ü\n"),
        ("POST", "/v1/logs/s1?batch=l&expect=5&ttl=7d", LINES, "three"),
        ("POST", "/v1/logs/s1", NDJSON, '{"a":1}\n[2]\n'),
        ("POST", "/v1/logs/s1", EXACT, '{"events":[{"data":"_wAB"}]}'),
        ("GET", "/v1/logs/s1"), ("GET", "/v1/logs/s1?from=3&limit=2"), ("GET", "/v1/logs/s1?order=desc&limit=2"),
        ("GET", "/v1/logs/s1?from=8", EXACT),
        ("POST", "/v1/logs/s1/trim", [], '{"before":3}'), ("POST", "/v1/logs/s1/trim", [], '{"before":3}'),
        ("GET", "/v1/logs/s1?limit=1"), ("GET", "/v1/logs/s1?from=100"), ("GET", "/v1/logs/unknown"),
    ],
    "appends, reads and trims that are refused": [
        ("POST", "/v1/logs/s2", [], '{"events":[]}'), ("POST", "/v1/logs/s2", LINES, ""), ("POST", "/v1/logs/s2", [], "{}"),
        ("POST", "/v1/logs/s2", NDJSON, "{"), ("POST", "/v1/logs/s2", [], '{"events":[{"data":1,"when":2}]}'),
        ("POST", "/v1/logs/s2", [], '{"events":[{"data":1,"time":"now"}]}'), ("POST", "/v1/logs/s2?expect=0", LINES, "x"),
        ("GET", "/v1/logs/s2?limit=0"), ("GET", "/v1/logs/s2?order=odd"), ("GET", "/v1/logs/s2?from=-1"),
        ("GET", "/v1/logs/s2?follow=maybe"), ("POST", "/v1/logs/s2/trim", [], "{}"),
    ],
}

DOCUMENTS = {
    "documents are made, read, replaced and removed": [
        ("GET", "/v1/docs/d1"),
        ("PUT", "/v1/docs/d1", CREATE + ["Content-Type: text/x-odd; a=b"], "one"),
        ("GET", "/v1/docs/d1"), ("HEAD", "/v1/docs/d1"),
        ("GET", "/v1/docs/d1", ["If-None-Match: $etag"]), ("GET", "/v1/docs/d1", ['If-None-Match: W/"x", "y"']),
        ("GET", "/v1/docs/d1", ["If-None-Match: x"]),
        ("PUT", "/v1/docs/d1", CREATE, "two"), ("PUT", "/v1/docs/d1", MATCH, "two"), ("PUT", "/v1/docs/d1", STALE, "three"),
        ("PUT", "/v1/docs/d1", [], "x"), ("PUT", "/v1/docs/d1", ["If-Match: *"], "x"),
        ("DELETE", "/v1/docs/d1"), ("DELETE", "/v1/docs/d1", STALE), ("GET", "/v1/docs/d1"), ("DELETE", "/v1/docs/d1", MATCH),
        ("GET", "/v1/docs/d1"), ("DELETE", "/v1/docs/d1", STALE),
    ],
    "documents are patched": [
        ("PATCH", "/v1/docs/d2", MERGE, "{}"),
        ("PUT", "/v1/docs/d2", CREATE + JSON, '{"a":1}'),
        ("PATCH", "/v1/docs/d2", MERGE, '{"b":{"c":2}}'), ("PATCH", "/v1/docs/d2", MERGE + MATCH, '{"a":null}'),
        ("PATCH", "/v1/docs/d2", PATCH, '[{"op":"add","path":"/d","value":[1]},{"op":"remove","path":"/b"}]'),
        ("PATCH", "/v1/docs/d2", PATCH, '[{"op":"remove","path":"/b"}]'), ("PATCH", "/v1/docs/d2", PATCH, '[{"op":"odd"}]'),
        ("PATCH", "/v1/docs/d2", MERGE + STALE, "{}"), ("PATCH", "/v1/docs/d2", MERGE, "{"),
        ("PATCH", "/v1/docs/d2", [], "{}"), ("GET", "/v1/docs/d2"),
        ("PUT", "/v1/docs/d3", CREATE, "not JSON"), ("PATCH", "/v1/docs/d3", MERGE, "{}"),
    ],
    "changes with an id": [
        ("PUT", "/v1/docs/d4", CREATE + key('"k1"'), "{}"), ("PUT", "/v1/docs/d4", CREATE + key("k1"), "{}"),
        ("PUT", "/v1/docs/d4", CREATE + key("k1"), "[]"),
        ("PATCH", "/v1/docs/d4", MERGE + key("k2"), '{"n":1}'), ("PATCH", "/v1/docs/d4", MERGE + key("k2"), '{"n":1}'),
        ("PATCH", "/v1/docs/d4", MERGE + key("k2"), '{"n":2}'),
        ("DELETE", "/v1/docs/d4", MATCH + key("k3")), ("DELETE", "/v1/docs/d4", MATCH + key("k3")),
        ("PUT", "/v1/docs/d4", CREATE + key("k" * 256), "{}"),
    ],
}

HOUR = '"window":"hour","ttl":"3650d"'

TALLIES = {
    "every kind": [
        ("POST", "/v1/tallies/sum", [], '{"kind":"sum","add":5}'), ("POST", "/v1/tallies/sum", [], '{"kind":"sum","add":-7}'),
        ("GET", "/v1/tallies/sum"), ("POST", "/v1/tallies/real", [], '{"kind":"real","add":0.5}'),
        ("POST", "/v1/tallies/real", [], '{"kind":"real","add":1e300}'), ("GET", "/v1/tallies/real"),
        ("POST", "/v1/tallies/count", [], '{"kind":"count"}'), ("POST", "/v1/tallies/count", [], '{"kind":"count","add":4}'),
        ("GET", "/v1/tallies/count"),
        ("POST", "/v1/tallies/max", [], '{"kind":"max","value":42}'), ("POST", "/v1/tallies/max", [], '{"kind":"max","value":3}'),
        ("GET", "/v1/tallies/max"),
        ("POST", "/v1/tallies/min", [], '{"kind":"min","value":-1}'), ("POST", "/v1/tallies/min", [], '{"kind":"min","value":9}'),
        ("GET", "/v1/tallies/min"),
        ("POST", "/v1/tallies/distinct", [], '{"kind":"distinct","items":["a","b","a"]}'),
        ("POST", "/v1/tallies/distinct", [], '{"kind":"distinct","items":["c"]}'), ("GET", "/v1/tallies/distinct"),
        ("GET", "/v1/tallies/distinct", EXACT),
        ("POST", "/v1/tallies/small", [], '{"kind":"distinct","precision":10,"items":["c"]}'), ("GET", "/v1/tallies/small"),
        ("POST", "/v1/tallies/top", [], '{"kind":"top","items":["a",{"item":"b","count":3}]}'), ("GET", "/v1/tallies/top"),
        ("GET", "/v1/tallies/top", EXACT),
        ("POST", "/v1/tallies/bloom", [], '{"kind":"bloom","capacity":100,"rate":0.05,"items":["x"]}'),
        ("GET", "/v1/tallies/bloom"), ("GET", "/v1/tallies/bloom?item=x"), ("GET", "/v1/tallies/bloom?item=y"),
        ("GET", "/v1/tallies/bloom", EXACT), ("GET", "/v1/tallies/sum?item=x"), ("GET", "/v1/tallies/none"),
        ("POST", "/v1/tallies/read", [], '{"keys":["sum","none","max","sum","top"]}'),
        ("POST", "/v1/tallies/%72ead", [], '{"kind":"count"}'), ("GET", "/v1/tallies/read"),
    ],
    "windows and ranges": [
        ("POST", "/v1/tallies/w", [], '{"kind":"count",' + HOUR + ',"at":"2026-11-15T09:30:00Z"}'),
        ("POST", "/v1/tallies/w", [], '{"kind":"count",' + HOUR + ',"at":"2026-11-15T10:30:00Z"}'),
        ("POST", "/v1/tallies/w", [], '{"kind":"count","window":"day","at":"2026-11-15T10:30:00Z"}'),
        ("GET", "/v1/tallies/w"), ("GET", "/v1/tallies/w?from=2026-11-15T09:00:00Z&to=2026-11-15T10:00:00Z"),
        ("POST", "/v1/tallies/read", [], '{"keys":["w"],"from":"2026-11-15T10:00:00Z"}'),
    ],
    "ids": [
        ("POST", "/v1/tallies/i", [], '{"kind":"sum","add":1,"id":"i1"}'), ("POST", "/v1/tallies/i", [], '{"kind":"sum","add":1,"id":"i1"}'),
        ("POST", "/v1/tallies/i", [], '{"kind":"sum","add":2,"id":"i1"}'), ("GET", "/v1/tallies/i"),
    ],
    "merges and reads that are refused": [
        ("POST", "/v1/tallies/i", [], '{"kind":"count"}'), ("POST", "/v1/tallies/r", [], '{"kind":"odd"}'),
        ("POST", "/v1/tallies/i", [], '{"kind":"sum","add":9223372036854775807}'),
        ("POST", "/v1/tallies/r", [], '{"kind":"sum"}'), ("POST", "/v1/tallies/r", [], '{"kind":"sum","add":0.5}'),
        ("POST", "/v1/tallies/r", [], '{"kind":"count","window":"week"}'), ("POST", "/v1/tallies/r", [], '{"kind":"top","items":[]}'),
        ("GET", "/v1/tallies/i?from=now"), ("POST", "/v1/tallies/read", [], "{}"), ("POST", "/v1/tallies/read", [], '{"keys":[""]}'),
    ],
}

EFFECTS = {
    "several effects in one commit": [
        ("PUT", "/v1/docs/e-old", CREATE + JSON, "{}"), ("POST", "/v1/claims/e1", [], "{}"),
        ("POST", "/v1/commit", [],
         '{"id":"e1","claim":{"key":"e1","ticket":"$ticket","result":1},"logs":[{"stream":"e","events":[{"data":1},{"data":"x"}]}],'
         '"docs":[{"key":"e-new","if_none_match":"*","body":{"a":1}},{"key":"e-old","if_match":$etag,"body":2}],'
         '"tallies":[{"key":"e-sum","kind":"sum","add":5},{"key":"e-top","kind":"top","items":["a"]}]}'),
        ("POST", "/v1/commit", [],
         '{"id":"e1","claim":{"key":"e1","ticket":"$ticket","result":1},"logs":[{"stream":"e","events":[{"data":1},{"data":"x"}]}],'
         '"docs":[{"key":"e-new","if_none_match":"*","body":{"a":1}},{"key":"e-old","if_match":$etag,"body":2}],'
         '"tallies":[{"key":"e-sum","kind":"sum","add":5},{"key":"e-top","kind":"top","items":["a"]}]}'),
        ("GET", "/v1/claims/e1"), ("GET", "/v1/docs/e-new"), ("GET", "/v1/tallies/e-sum"),
    ],
    "an id alone, and the exact form": [
        ("POST", "/v1/commit", [], '{"id":"e2"}'), ("POST", "/v1/commit", [], '{"id":"e2"}'),
        ("POST", "/v1/commit", [], '{"id":"e2","tallies":[{"key":"e-sum","kind":"sum","add":5}]}'),
        ("POST", "/v1/claims/e3", [], "{}"),
        ("POST", "/v1/commit", EXACT, '{"claim":{"key":"e3","ticket":"$ticket","result":"_wAB"},'
         '"docs":[{"key":"e3","if_none_match":"*","body":"_wAB","type":"x/y"}],"tallies":[{"key":"e3","kind":"real","add":0.5}]}'),
        ("GET", "/v1/docs/e3"), ("POST", "/v1/commit", [], "{}"),
    ],
    "commits that are refused": [
        ("POST", "/v1/claims/e4", [], "{}"), ("DELETE", "/v1/claims/e4"),
        ("POST", "/v1/commit", [], '{"claim":{"key":"e4","ticket":"$ticket"}}'),
        ("POST", "/v1/commit", [], '{"docs":[{"key":"e-new","if_none_match":"*","body":1}]}'),
        ("POST", "/v1/commit", [], '{"docs":[{"key":"e-new","if_match":"0123456789abcdef","body":1}]}'),
        ("POST", "/v1/commit", [], '{"tallies":[{"key":"e-sum","kind":"count"}]}'),
        ("POST", "/v1/commit", [], '{"docs":[{}]}'), ("POST", "/v1/commit", [], '{"id":""}'),
        ("POST", "/v1/commit", [], '{"logs":[{"stream":"e","events":[]}]}'),
        ("POST", "/v1/commit", [], '{"tallies":[{"key":"e-sum","kind":"sum","add":9223372036854775807}]}'),
    ],
}

EVENTS = {
    "events in each mode": [
        ("POST", "/v1/events", STRUCTURED, event("plain")), ("POST", "/v1/events", STRUCTURED, event("plain")),
        ("POST", "/v1/events", ["ce-specversion: 1.0", "ce-id: 2", "ce-source: /golden", "ce-type: logged",
                                "Content-Type: application/json"], '{"n":2}'),
        ("POST", "/v1/events", BATCH, "[" + event("counted", "3") + "," + event("counted", "3") + "," + '{"id":"4"}' + "]"),
        ("GET", "/v1/logs/events"), ("GET", "/v1/tallies/events"), ("GET", "/v1/claims/event%2F7:%2Fgolden2"),
    ],
    "events that are refused": [
        ("POST", "/v1/events", [], "{}"), ("POST", "/v1/events", STRUCTURED, "{}"),
        ("POST", "/v1/events", ["Content-Type: application/cloudevents+xml"], ""), ("POST", "/v1/events", BATCH, "{}"),
        ("POST", "/v1/claims/event%2F7:%2Fgolden5", [], "{}"), ("POST", "/v1/events", STRUCTURED, event("plain", "5")),
        ("POST", "/v1/tallies/other", [], '{"kind":"max","value":1}'), ("POST", "/v1/events", STRUCTURED, event("mismatched", "6")),
        ("POST", "/v1/events", STRUCTURED, event("unreachable", "7")),
    ],
}

# Items with the checks that they need, which docs/formats.md tells. The second is sound, and no claim.
SOUND = ('{"home":"claim/default/imported","part":"","sort":0,"version":"573f27da57fdcafe","number":86400000,'
         '"expiry":4102444800000,"check":1994172761}')
ROTTEN = ('{"home":"claim/default/rotten","part":"","sort":0,"version":"573f27da57fdcafe","bytes":"cm90","check":984374577}')

ITEMS = {
    "items are listed, imported and refused": [
        ("PUT", "/v1/docs/d", in_space("items") + CREATE, "one"), ("GET", "/v1/items", in_space("items")),
        ("GET", "/v1/items?limit=1&cursor=$cursor"), ("GET", "/v1/items?limit=0"), ("GET", "/v1/items?cursor=!"),
        ("POST", "/v1/items", [], '{"items":[]}'), ("POST", "/v1/items", [], "{}"),
        ("POST", "/v1/items", [], '{"items":[' + SOUND.replace("1994172761", "1") + "]}"),
        ("POST", "/v1/items", [], '{"items":[' + SOUND + "]}"), ("POST", "/v1/items", [], '{"items":[' + SOUND + "]}"),
        ("POST", "/v1/items", in_space("items"), '{"items":[' + SOUND + "]}"),
        ("GET", "/v1/claims/imported"),
        ("POST", "/v1/items", [], '{"items":[' + ROTTEN + "]}"),
        ("GET", "/v1/claims/rotten"), ("POST", "/v1/claims/rotten", [], "{}"),
    ],
    "a checkpoint": [
        ("POST", "/v1/checkpoints", [], '{"to":"/tmp"}'), ("POST", "/v1/checkpoints"),
    ],
}

TOKENS = {
    "tokens are made, asked for, listed and revoked": [
        ("GET", "/v1/tokens"), ("POST", "/v1/tokens", [], '{"namespace":"a/b"}'), ("POST", "/v1/tokens", [], '{"label":1}'),
        ("GET", "/v1/tokens?x=1"), ("DELETE", "/v1/tokens/x?x=1"), ("DELETE", "/v1/tokens/unknown"),
        ("POST", "/v1/tokens", [], '{"label":"first"}'),
        ("GET", "/v1/claims/c"), ("GET", "/v1/claims/c", ["Authorization: Bearer wrong"]),
        ("GET", "/v1/claims/c", ["Authorization: Basic eDp5"]), ("GET", "/metrics"), ("GET", "/healthz"),
        ("GET", "/v1/claims/c", BEARER), ("GET", "/v1/tokens", BEARER),
        ("POST", "/v1/tokens", BEARER, '{"namespace":"team","read_only":true,"label":"reader"}'),
        ("GET", "/v1/claims/c", BEARER), ("GET", "/v1/claims/c", BEARER + in_space("other")),
        ("POST", "/v1/claims/c", BEARER, "{}"), ("GET", "/v1/tokens", BEARER),
        ("DELETE", "/v1/tokens/$id", FIRST), ("DELETE", "/v1/tokens/$id", FIRST), ("GET", "/v1/claims/c", BEARER),
    ],
}

ELSEWHERE = {"a store without checkpoints": [("POST", "/v1/checkpoints")]}

# Sent as they are; the connection ends after each that cannot be read on from.
RAW = {
    "what is not HTTP": b"nonsense\r\n\r\n",
    "a body that is too long": b"POST /v1/claims/c HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n",
    "a header that is too long": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20000 + b"\r\n\r\n",
    "a header given twice": b"GET /v1/docs/d HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\nIf-None-Match: *\r\n\r\n",
    "an older protocol": b"GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n",
    "the end of a connection": b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "a body in chunks": b"POST /v1/claims/chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "an answer before a body": b"POST /v1/claims/later HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    "a path that is none": b"GET nonsense HTTP/1.1\r\nHost: x\r\n\r\n",
}

ROUTES = """
[[route]]
type = "logged"
log = "events"
[[route]]
type = "counted"
tally = "events"
[[route]]
type = "mismatched"
tally = "other"
[[route]]
type = "unreachable"
forward = "http://127.0.0.1:9/x"
"""

ITEM_BYTES = [(re.compile(r'(?<="version":")(?!573f27da57fdcafe)[0-9a-f]{16}'), "VERSION"),
              (re.compile(r'(?<="bytes":")(?!cm90)[^"]*'), "BYTES"),
              (re.compile(r'(?<="check":)(?!1994172761|984374577|1\})\d+(?=\})'), "CHECK"),
              (re.compile(r'(?<="directory":")[^"]*'), "PATH"),
              (re.compile(r'(?<="conflicts":)[0-9.]+'), "CONFLICTS"),
              (re.compile(r"<p>Store: .*</p>"), "<p>Store: STORE</p>"),
              (re.compile(r'(?<="id":")[0-9a-f]{64}'), "HASH"),
              (re.compile(r"/v1/tokens/[0-9a-f]{64}"), "/v1/tokens/HASH")]


def last(pattern, text, before):
    found = re.search(pattern, text)
    return found.group(1) if found else before


class Scenario:
    def __init__(self, address, openapi):
        self.address = address
        self.connection = Connection(address)
        self.openapi = openapi
        self.names = Names(ITEM_BYTES)
        self.known = {"$ticket": "", "$etag": "", "$first_token": "", "$token": "", "$id": "", "$cursor": ""}

    def filled(self, text):
        for name, value in self.known.items():
            text = text.replace(name, value)
        return text

    def shown(self, body):
        return "(openapi.yaml)" if body == self.openapi else body

    def step(self, method, target, headers=(), body=None):
        raw = request_bytes(method, self.filled(target), [self.filled(one) for one in headers],
                            None if body is None else self.filled(body))
        self.connection.send(raw)
        answer = self.connection.message(has_body=method != "HEAD")
        text = as_text(answer)
        for name, pattern in {"$ticket": r'"ticket":"([^"]+)"', "$etag": r'ETag: ("[0-9a-f]{16}")',
                              "$token": r'"token":"([^"]+)"', "$id": r'"id":"([^"]+)"',
                              "$cursor": r'"cursor":"([^"]+)"'}.items():
            self.known[name] = last(pattern, text, self.known[name])
        self.known["$first_token"] = self.known["$first_token"] or self.known["$token"]
        received = written("<", answer, self.names, self.shown)  # First: what it gives may be named in what was sent.
        sent = written(">", raw, self.names)
        if b"\r\nconnection: close" in answer.lower():
            self.connection.close()
            self.connection = Connection(self.address)
        return [*sent, *received, ""]


def play(scenarios, address, openapi):
    lines = []
    for name, steps in scenarios.items():
        scenario = Scenario(address, openapi)
        lines += [f"# {name}", ""]
        for step in steps:
            lines += scenario.step(*step)
        scenario.connection.close()
    return lines


def play_raw(address):
    lines = []
    for name, raw in RAW.items():
        connection = Connection(address)
        connection.send(raw)
        lines += [f"# {name}", ""] + written(">", raw.replace(b"x" * 20000, b"(20000 times x)"), Names())
        answer = connection.message(has_body=b"100-continue" not in raw)
        lines += written("<", answer, Names()) + [""]
        connection.close()
    return lines


def follow(address, target, headers, events):
    """What a follower gets until it has so many events."""
    connection = Connection(address)
    raw = request_bytes("GET", target, headers)
    connection.send(raw)
    head = connection.until(b"\r\n\r\n")
    names = Names()
    text = ""
    while text.count("\ndata: ") < events:
        text += as_text(connection.until(b"\n\n"))
    connection.close()
    return [*written(">", raw, names), *written("<", head, names),
            *[f"< {line}" if line else "<" for line in names(text).strip().split("\n")], ""]


def play_followers(address, openapi):
    lines = play({"followers": [("POST", "/v1/logs/f", [], '{"events":[{"data":{"n":1}},{"data":"two"},{"data":3}]}')]},
                 address, openapi)
    lines += follow(address, "/v1/logs/f?follow=true", [], 3)
    lines += follow(address, "/v1/logs/f?follow=true&from=3", [], 1)
    lines += follow(address, "/v1/logs/f", ["Accept: text/event-stream", "Last-Event-ID: 1"], 2)
    lines += follow(address, "/v1/logs/f?follow=true&from=3", EXACT, 1)
    return lines


def play_metrics(address):
    """Names, help and labels, without their values; without what only a sweep or an answer before brings."""
    connection = Connection(address)
    connection.send(request_bytes("GET", "/metrics"))
    answer = connection.message()
    head, _, body = answer.partition(b"\r\n\r\n")
    samples = [re.sub(r" \S+$", "", line) if not line.startswith("#") else line
               for line in as_text(body).splitlines()
               if not line.startswith(("once_http_responses_total", "idempotency_cache_size",
                                          "once_namespace_used"))]
    connection.close()
    return ["# the metrics of a fresh server", "", *written("<", re.sub(rb"(?<=Content-Length: )\d+", b"LENGTH", head) + b"\r\n\r\n", Names())[:-1],
            *[f"< {line}" for line in samples], ""]


def record(binary, work, repo):
    openapi = (repo / "openapi.yaml").read_text(encoding="utf-8")
    config = work / "routes.toml"
    config.write_text(ROUTES)

    def served(store, *more):
        return Program([binary, "serve", "--store", str(store), "--listen", "127.0.0.1:0", *more],
                       {"PATH": "/usr/bin:/bin", "HOME": str(work), "LANG": "C.UTF-8", "ONCE_HOST": "once.test,x"})

    lines = []
    with served("memory:") as server:
        lines += play_metrics(server.address) + play(ELSEWHERE, server.address, openapi)
    with served(work / "api", "--config", str(config)) as server:
        for part in (PAGES, CLAIMS, LOGS, DOCUMENTS, TALLIES, EFFECTS, EVENTS, ITEMS):
            lines += play(part, server.address, openapi)
        lines += play_followers(server.address, openapi) + play_raw(server.address)
        lines += play(TOKENS, server.address, openapi)
    with served(work / "narrow", "--max-connections", "1") as server:
        first = Connection(server.address)
        first.send(request_bytes("GET", "/healthz"))
        first.message()
        second = Connection(server.address)
        lines += ["# a connection too many", "", *written("<", second.message(), Names()), ""]
    return "\n".join(lines)
