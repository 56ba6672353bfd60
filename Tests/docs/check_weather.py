"""Checks that an example `weather` prints the same in each language.

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
PARIS = "2988507    9.6 °C  Paris, FR: broken clouds, 2023-11-14T22:13:20Z"
CITY = "2643741    6.2 °C  City of London, GB: light rain, 2023-11-14T22:13:20Z"
NUMBER = "must be a whole number from 1 to"
USAGE = "usage: "


def expectations() -> list[tuple[list[str], int, list[str]]]:
    """Arguments, with the expected exit code and lines."""
    return [
        (["find", "Oslo"], 0, [OSLO]),
        (["find", "Paris", "accurate", "1"], 0, [PARIS]),
        (["find", "of Lond", "like"], 0, [CITY]),
        (["find", "of Lond", "accurate"], 1, ["error: city not found"]),
        (["find", "London", "like", "1"], 0, [LONDON]),
        (["find", "London", "fuzzy"], 2, ["error: TYPE must be accurate or like: fuzzy"]),
        (["find", "London", "like", "51"], 2, [f"error: COUNT {NUMBER} 50: 51"]),
        (["find", "Nowhereville"], 1, ["error: city not found"]),
        (["find", "error500"], 1, ["error: the service has trouble: try again later"]),
        (["find", "L"], 1, ["error: Bad query: q needs 3 characters or more"]),
        (["list", "2643743", "3143244"], 0, [LONDON, OSLO]),
        (["list", "1", "3143244"], 1, ["error: no city has the code 1"]),
        (["list", "3143244", "x"], 2, [f"error: CODE {NUMBER} 2147483647: x"]),
        (["follow", "0", "3", "3143244"], 0, [OSLO, "nothing new", "nothing new"]),
        (["follow", "inf", "3", "1"], 2, ["error: SECONDS must be a number from 0 to 86400: inf"]),
        (["follow", "0", "-2", "1"], 2, [f"error: TIMES {NUMBER} 2147483647: -2"]),
    ]


def main() -> int:
    """Returns 0 if the program passes."""
    command = sys.argv[1:]
    failed = 0
    # Ignore proxies of the environment.
    environment = os.environ | {"no_proxy": "127.0.0.1"}
    environment.pop("OPENWEATHER_APPID", None)
    with weather_server() as url:
        for words, code, lines in expectations():
            run = [*command, url, *words]
            done = subprocess.run(
                run, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
            said, unsaid = done.stdout, done.stderr
            if code != 0:
                said, unsaid = unsaid, said
            if (done.returncode, said.splitlines(), unsaid) != (code, lines, ""):
                failed += 1
                print(f"{words}: expected {code} {lines}, not {done.returncode}:")
                print(done.stdout + done.stderr)
        run = [*command, "http://127.0.0.1:1", "list", "1"]
        offline = subprocess.run(
            run, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if offline.returncode != 1 or "error: 127.0.0.1:1: no connection" not in offline.stderr:
            failed += 1
            print(f"without a server: {offline.returncode} {offline.stdout + offline.stderr}")
        wrong = subprocess.run(
            [*command, url, "find"], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if wrong.returncode != 2 or not wrong.stderr.startswith(USAGE):
            failed += 1
            print(f"without a name: {wrong.returncode} {wrong.stdout + wrong.stderr}")
    print(f"{failed} failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
