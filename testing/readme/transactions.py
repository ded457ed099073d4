#!/usr/bin/python3
"""transactions.py REPOSITORY ONCE: does what docs/transactions.md shows, on a PostgreSQL of its own, and looks at what came of it."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "examples" / "orders"))
import story  # noqa: E402

JQ = 'jq() { /usr/bin/python3 -c "import json, sys; print(json.load(sys.stdin)[sys.argv[1][1:]])" "$2"; }\n'


def block(page, language):
    return re.search(rf"```{language}\n(.*?)```", page, re.DOTALL).group(1)


def shell(script, server):
    """The page's commands, without the server, which is there already."""
    lines = [line for line in script.splitlines() if not line.startswith("once ")]
    script = JQ + "\n".join(lines).replace("localhost:7600", server.url[len("http://") :]) + '\necho "$token"'
    return subprocess.run(["bash", "-euc", script], check=True, capture_output=True, text=True).stdout.strip()


def main():
    page = (ROOT / "docs" / "transactions.md").read_text()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="transactions-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        database = story.Database(directory)
        stack.callback(database.stop)
        binary = os.path.abspath(sys.argv[2])
        subprocess.run([binary, "table", "create", "--store", database.url], check=True)
        server = story.Server(binary, database.url)
        stack.callback(server.stop)
        database.rows("create table orders (number integer, item text); create table stock (item text, quantity integer)")
        database.rows("insert into stock values ('lamp', 5)")
        token = shell(block(page, "sh"), server)
        database.rows(block(page, "sql").replace("begin;", "").replace("commit;", "").replace("TOKEN", token))
        client = story.once.connect(server.url)
        found = {
            "orders": database.rows("select number, item from orders"),
            "stock": database.rows("select quantity from stock"),
            "claim": client.run("order-42", lambda attempt: "it ran again").result,
            "sold": [event.data for event in client.log("sold").read()],
            "revenue": client.tally("revenue").value(),
        }
    wanted = {"orders": [(42, "lamp")], "stock": [(4,)], "claim": "placed", "sold": [42], "revenue": 1900}
    if found != wanted:
        raise SystemExit(f"{found}\nis not\n{wanted}")


if __name__ == "__main__":
    main()
