#!/usr/bin/python3
"""Plays the scenarios of clients/contract with this client: contract_driver.py sync|async."""
import asyncio
import json
import pathlib
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "src"))
import once  # noqa: E402


class Raised(Exception):
    """What the work of a scenario raises."""


def add_effects(effects, wanted):
    for name, target, value, *options in wanted:
        getattr(effects, name)(target, value, **(options[0] if options else {}))
    return effects


def finish(work, attempt):
    add_effects(attempt.effects, work.get("effects", []))
    if "raises" in work:
        raise Raised(work["raises"])
    if "gives_up" in work:
        attempt.give_up(work["gives_up"])
    return work.get("returns")


def hand_over(token, work):
    """To who applies it."""
    if "applies_at" in work:
        urllib.request.urlopen(work["applies_at"], data=(token or "").encode()).close()


def wait_at(url):
    urllib.request.urlopen(url).close()


def shown_event(event):
    return {"index": event.index, "data": event.data}


def shown_error(error):
    return {"code": error.code, "class": type(error).__name__, "failure": error.failure}


RUN_OPTIONS = ("lease", "ttl", "wait", "payload")


class SyncPlayer:
    def __init__(self, given):
        self.client = once.connect(given["url"], **given["client"])
        self.worked = 0

    def play(self, call):
        return getattr(self, call["do"])(call)

    def run(self, call):
        work = call["work"]

        def perform(attempt):
            self.worked += 1
            if work.get("until") == "lost":
                attempt.lost.wait(60)
                attempt.check()
            if "waits_at" in work:
                wait_at(work["waits_at"])
            if "prepares" in work:
                add_effects(attempt.effects, work.get("effects", []))
                hand_over(attempt.prepare(work["prepares"]), work)
                return None
            return finish(work, attempt)

        options = {name: call[name] for name in RUN_OPTIONS if name in call}
        outcome = self.client.run(call["key"], perform, **options)
        return {"result": outcome.result, "replayed": outcome.replayed}

    def seen(self, call):
        return self.client.seen(call["ids"])

    def append(self, call):
        options = {name: call[name] for name in ("batch", "expect") if name in call}
        done = self.client.log(call["stream"]).append(call["events"], **options)
        return {"first": done.first, "last": done.last, "replayed": done.replayed}

    def read(self, call):
        page = self.client.log(call["stream"]).read()
        return {"events": [shown_event(event) for event in page], "next": page.next}

    def follow(self, call):
        events = self.client.log(call["stream"]).follow(limit=call["take"], since=call.get("since"))
        return [shown_event(event) for event in events]

    def get(self, call):
        found = self.client.document(call["key"]).get()
        return None if found is None else {"value": found.value, "etag": found.etag}

    def put(self, call):
        options = {name: call[name] for name in ("create", "if_match") if name in call}
        return self.client.document(call["key"]).put(call["value"], **options)

    def update(self, call):
        done = self.client.document(call["key"]).update(lambda value: {**(value or {}), **call["set"]})
        return {"value": done.value, "etag": done.etag}

    def delete(self, call):
        return self.client.document(call["key"]).delete(if_match=call["if_match"])

    def add(self, call):
        done = self.client.tally(call["key"]).add(call["amount"], id=call.get("id"))
        return {"value": done.value, "replayed": done.replayed}

    def value(self, call):
        return self.client.tally(call["key"]).value()

    def commit(self, call):
        done = self.client.commit(add_effects(once.Effects(), call["effects"]), id=call.get("id"))
        return {"replayed": done.replayed}

    def prepare(self, call):
        return self.client.prepare(add_effects(once.Effects(), call["effects"]))

    def forget(self, call):
        return self.client.claim(call["key"]).forget()


class AsyncPlayer:
    """The same calls, awaited."""

    def __init__(self, given):
        self.client = once.connect_async(given["url"], **given["client"])
        self.worked = 0

    async def play(self, call):
        return await getattr(self, call["do"])(call)

    async def run(self, call):
        work = call["work"]

        async def perform(attempt):
            self.worked += 1
            if work.get("until") == "lost":
                await asyncio.sleep(60)
            if "waits_at" in work:
                await asyncio.get_running_loop().run_in_executor(None, wait_at, work["waits_at"])
            if "prepares" in work:
                add_effects(attempt.effects, work.get("effects", []))
                hand_over(await attempt.prepare(work["prepares"]), work)
                return None
            return finish(work, attempt)

        options = {name: call[name] for name in RUN_OPTIONS if name in call}
        outcome = await self.client.run(call["key"], perform, **options)
        return {"result": outcome.result, "replayed": outcome.replayed}

    async def seen(self, call):
        return await self.client.seen(call["ids"])

    async def append(self, call):
        options = {name: call[name] for name in ("batch", "expect") if name in call}
        done = await self.client.log(call["stream"]).append(call["events"], **options)
        return {"first": done.first, "last": done.last, "replayed": done.replayed}

    async def read(self, call):
        page = await self.client.log(call["stream"]).read()
        return {"events": [shown_event(event) for event in page], "next": page.next}

    async def follow(self, call):
        events = self.client.log(call["stream"]).follow(limit=call["take"], since=call.get("since"))
        return [shown_event(event) async for event in events]

    async def get(self, call):
        found = await self.client.document(call["key"]).get()
        return None if found is None else {"value": found.value, "etag": found.etag}

    async def put(self, call):
        options = {name: call[name] for name in ("create", "if_match") if name in call}
        return await self.client.document(call["key"]).put(call["value"], **options)

    async def update(self, call):
        async def change(value):
            return {**(value or {}), **call["set"]}

        done = await self.client.document(call["key"]).update(change)
        return {"value": done.value, "etag": done.etag}

    async def delete(self, call):
        return await self.client.document(call["key"]).delete(if_match=call["if_match"])

    async def add(self, call):
        done = await self.client.tally(call["key"]).add(call["amount"], id=call.get("id"))
        return {"value": done.value, "replayed": done.replayed}

    async def value(self, call):
        return await self.client.tally(call["key"]).value()

    async def commit(self, call):
        done = await self.client.commit(add_effects(once.Effects(), call["effects"]), id=call.get("id"))
        return {"replayed": done.replayed}

    async def prepare(self, call):
        return await self.client.prepare(add_effects(once.Effects(), call["effects"]))

    async def forget(self, call):
        return await self.client.claim(call["key"]).forget()


def play_sync(given):
    player = SyncPlayer(given)
    return player, lambda: player.play(given["call"])


def play_async(given):
    player = AsyncPlayer(given)

    async def play():
        async with player.client:
            return await player.play(given["call"])

    return player, lambda: asyncio.run(play())


def main():
    make = play_async if sys.argv[1:] == ["async"] else play_sync
    for line in sys.stdin:
        given = json.loads(line)
        player, play = make(given)
        try:
            seen = {"value": play()}
        except once.OnceError as error:
            seen = {"error": shown_error(error)}
        except Raised as error:
            seen = {"raised": str(error)}
        print(json.dumps({**seen, "worked": player.worked}), flush=True)


if __name__ == "__main__":
    main()
