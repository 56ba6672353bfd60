"""Checks what an example `weather` prints: the same in each language.

python3 Tests/docs/check_weather.py COMMAND...

The server is the one of NTAPI_TEST_SERVERS, or one started here, which ends when its stdin does.
"""

from __future__ import annotations

import os
import subprocess
import sys

from terminal import PATIENCE
from weather_server import weather_server

LONDON = "2643743    8.2 °C  London, GB: mist, 2023-11-14T22:13:20Z"
OSLO = "3143244    6.0 °C  Oslo, NO: overcast clouds, 2023-11-14T22:13:20Z"
USAGE = "usage: "


def expectations() -> list[tuple[list[str], int, list[str]]]:
    """Words of a command line, and the exit code and the lines that have to come of them."""
    return [
        (["find", "Oslo"], 0, [OSLO]),
        (["find", "Nowhereville"], 1, ["no such city"]),
        (["find", "error500"], 1, ["the service has trouble: try again later"]),
        (["find", "L"], 1, ["no such city"]),
        (["list", "2643743", "3143244"], 0, [LONDON, OSLO]),
        (["follow", "0", "3", "3143244"], 0, [OSLO, "nothing new", "nothing new"]),
    ]


def main() -> int:
    """0 when the program does all of it."""
    command = sys.argv[1:]
    failed = 0
    # Proxies of the environment have no business here.
    environment = os.environ | {"no_proxy": "127.0.0.1"}
    environment.pop("OPENWEATHER_APPID", None)
    with weather_server() as url:
        for words, code, lines in expectations():
            run = [*command, url, *words]
            done = subprocess.run(
                run, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
            if (done.returncode, done.stdout.splitlines()) != (code, lines):
                failed += 1
                print(f"{words}: expected {code} {lines}, not {done.returncode}:")
                print(done.stdout + done.stderr)
        run = [*command, "http://127.0.0.1:1", "list", "1"]
        offline = subprocess.run(
            run, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if offline.returncode != 1 or not offline.stdout.startswith("error: network: "):
            failed += 1
            print(f"without a server: {offline.returncode} {offline.stdout + offline.stderr}")
        wrong = subprocess.run(
            [*command, url, "find"], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if wrong.returncode != 2 or not wrong.stdout.startswith(USAGE):
            failed += 1
            print(f"without a name: {wrong.returncode} {wrong.stdout + wrong.stderr}")
    print(f"{failed} failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
