#!/usr/bin/env python3
"""blocks.py DOCUMENT LANGUAGE OUTPUT: the blocks of that language, one after the other, as one file."""
import sys

document, language, output = sys.argv[1:4]
inside = False
with open(document, encoding="utf-8") as source, open(output, "w", encoding="utf-8") as file:
    for number, line in enumerate(source, 1):
        if line.rstrip() == f"```{language}":
            inside = True
            file.write(f'#line {number + 1} "{document}"\n')  # Errors name the document's line.
        elif line.startswith("```"):
            inside = False
        elif inside:
            file.write(line)
