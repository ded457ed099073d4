#!/usr/bin/python3
"""Builds the sdist and from that the wheel, installs it into a fresh environment, and runs the code of README.md there."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def quietly(*command, **options):
    run = subprocess.run(command, capture_output=True, text=True, **options)
    if run.returncode != 0:
        sys.exit(f"{command}: {run.stdout}\n{run.stderr}")
    return run.stdout


def code_of(text):
    """The Python in it, each line where it is in the file, so that errors name the README's lines."""
    out, inside = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = line == "```python"
            out.append("")
        else:
            out.append(line if inside else "")
    return "\n".join(out)


def main():
    with tempfile.TemporaryDirectory(prefix="once-readme-") as home:
        source = pathlib.Path(home) / "source"
        shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        quietly("/usr/bin/python3", "-c", f"import setuptools.build_meta as build; build.build_sdist({home!r})", cwd=source)
        [sdist] = pathlib.Path(home).glob("once*client-*.tar.gz")
        quietly("/usr/bin/python3", "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", home, str(sdist))
        quietly("/usr/bin/python3", "-m", "venv", "--system-site-packages", f"{home}/venv")
        wheels = list(pathlib.Path(home).glob("once_client-*.whl"))
        assert len(wheels) == 1, wheels
        quietly(f"{home}/venv/bin/pip", "install", "-q", "--no-index", "--no-deps", str(wheels[0]))
        where = quietly(f"{home}/venv/bin/python", "-c", "import once; print(once.__file__)", cwd=home).strip()
        assert where.startswith(f"{home}/venv/"), where
        assert pathlib.Path(where).with_name("py.typed").exists()
        program = pathlib.Path(home) / "README.py"
        program.write_text(code_of((PACKAGE / "README.md").read_text()) +
                           "\nimport once._directory\nfor server in once._directory._started:\n"
                           "    server.terminate()\n    server.wait()\n")
        os.mkdir(f"{home}/empty")
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "ONCE_STORE")}
        print(quietly(f"{home}/venv/bin/python", str(program), cwd=f"{home}/empty", env=environment))
    blocks = len(re.findall(r"^```python$", (PACKAGE / "README.md").read_text(), re.M))
    print(f"{blocks} blocks ran")


if __name__ == "__main__":
    main()
