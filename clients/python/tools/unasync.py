#!/usr/bin/python3
"""Makes src/once/_sync_nouns.py from src/once/_async_nouns.py, or checks that it is so (--check)."""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src" / "once"
WORDS = [
    (r"async def", "def"),
    (r"async with", "with"),
    (r"async for", "for"),
    (r"\bawait ", ""),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"_async_client", "_client"),
    (r"\bAsync(Client|Claim|Log|Document|Tally|Tokens|Nouns)\b", r"\1"),
]
HEADER = (
    '"""Claims, logs, documents, tallies and the rest of the API, blocking.\n\n'
    "Made from `_async_nouns.py` by `tools/unasync.py`; do not change it by hand.\n"
    '"""\n'
)


def made() -> str:
    text = (SOURCE / "_async_nouns.py").read_text()
    text = HEADER + text.split('"""\n', 1)[1]
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    return text


def main() -> int:
    file = SOURCE / "_sync_nouns.py"
    if "--check" not in sys.argv:
        file.write_text(made())
        return 0
    if file.read_text() == made():
        return 0
    print(f"{file.name} is not what tools/unasync.py makes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
