"""Each function of the headers says: summary, parameters, result, ownership, threads, version."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from header import HEADERS, Function, Parameter, functions

LONGEST_SUMMARY = 150
OWNERSHIP = re.compile(r"\b(new|borrowed|copied|takes)\b")
FROM_CALLBACKS = re.compile(r"from callbacks|the hook's own|\bonly\b")
HANDLE_OR_BYTES = re.compile(r"(const )?(char|void) \*")


def owned(parameter: Parameter) -> bool:
    """Whether the comment must say who owns what comes in: texts and bytes, not user_data."""
    return bool(HANDLE_OR_BYTES.fullmatch(parameter.type)) and parameter.name != "user_data"


def complaints(function: Function) -> list[str]:
    """What the comment of one function lacks."""
    if not function.comment:
        return ["no comment"]
    found = []
    summary = function.summary
    if not summary.endswith("."):
        found.append(f"the summary does not end with a period: {summary!r}")
    if len(summary) > LONGEST_SUMMARY:
        found.append(f"the summary has {len(summary)} characters, {LONGEST_SUMMARY} at most")
    documented = {text.split(" ", 1)[0]: text for text in function.tags("param")}
    for parameter in function.parameters:
        text = documented.pop(parameter.name, "")
        if len(text.split()) < 2:
            found.append(f"no @param {parameter.name}")
        elif owned(parameter) and not OWNERSHIP.search(text):
            found.append(f"@param {parameter.name}: no ownership word")
    found += [f"@param {name}: no such parameter" for name in documented]
    returns = function.tags("returns")
    if function.result == "void":
        found += ["@returns of a void function"] if returns else []
    elif len(returns) != 1:
        found.append("no @returns")
    elif function.result.endswith("*") and not OWNERSHIP.search(returns[0]):
        found.append("@returns: no ownership word")
    threads = function.tags("threads")
    if len(threads) != 1 or not FROM_CALLBACKS.search(threads[0]):
        found.append('@threads: neither "from callbacks" nor "the hook\'s own" nor "only"')
    if len(function.tags("since")) != 1:
        found.append("no @since")
    return found


def main() -> int:
    """Prints each complaint and a summary line."""
    paths = [Path(argument) for argument in sys.argv[1:]] or HEADERS
    table = functions(*paths)
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    declared = set(re.findall(r"\b(ntapi_[a-z0-9_]+)\(", code))
    missed = declared - {function.name for function in table}
    failures = [f"{name}: this check could not read its declaration" for name in sorted(missed)]
    for function in table:
        failures += [f"{function.name}: {text}" for text in complaints(function)]
    for line in failures:
        print(line)
    print(f"check_header: {len(table)} functions, {len(failures)} complaints")
    return 1 if failures or not table else 0


if __name__ == "__main__":
    sys.exit(main())
