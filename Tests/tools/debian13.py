"""Runs the C tests, the Python tests and with both the conformance table on Debian 13, against the library built here.

    sudo .venv/bin/python Tests/tools/debian13.py                    everything
    sudo .venv/bin/python Tests/tools/debian13.py --only c -R fork   ctest with these options
    sudo .venv/bin/python Tests/tools/debian13.py --only python -k fork
    sudo .venv/bin/python Tests/tools/debian13.py --only shell       a shell beside the servers

Debian 13 is a folder that debootstrap fills once, from the mirror of this machine's apt. It is kept: `--root`, or .debian13.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SUITE = "trixie"
PACKAGES = [
    "ca-certificates",
    "cmake",
    "curl",
    "libcmocka0",
    "libcurl4t64",
    "libffi-dev",
    "libglib2.0-0t64",
    "libjansson4",
    "gcc",
    "libc6-dev",
    "libcurl4-openssl-dev",
    "libjansson-dev",
    "pkg-config",
    "nginx-light",
    "openssl",
    "procps",
    "python3",
    "python3-dev",
    "python3-venv",
    "libpython3.13",
]
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
REQUIREMENTS = ["Tests/servers/requirements.txt", "Tests/tools/requirements.txt"]
PIP_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "http_proxy", "https_proxy", "no_proxy")
VENV = "/opt/ntapi-venv"
"""In the root."""

SUITES = {
    "c": ["ctest", "--test-dir", "build", "--output-on-failure", "-L", "^c$", "--timeout", "1500"],
    "python": [
        f"{VENV}/bin/python",
        "-m",
        "pytest",
        "-q",
        "--timeout=600",
        # pip builds a wheel with tools that it downloads: the root has no network.
        "--deselect=bindings/python/tests/test_library.py::test_the_wheel_carries_the_library",
        "bindings/python/tests",
    ],
    "shell": ["bash"],
}


def mirror() -> str:
    """The one that apt takes Debian's main packages from."""
    targets = [
        "apt-get",
        "indextargets",
        "--format",
        "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
        "Created-By: Packages",
    ]
    for line in subprocess.check_output(targets, text=True).splitlines():
        origin, label, uri = line.split("|")
        if origin == label == "Debian":
            return uri
    sys.exit("apt knows no mirror of Debian: name one with --mirror")


def make(root: Path, url: str | None) -> None:
    """Fills the folder, unless a run before has."""
    done = root / ".ntapi-ready"
    if done.exists() and done.read_text() == " ".join(PACKAGES):
        return
    if root.exists():
        shutil.rmtree(root)
    root.mkdir(parents=True)
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}", f"--keyring={KEYS}"]
    subprocess.run(["debootstrap", *options, SUITE, str(root), url or mirror()], check=True)
    done.write_text(" ".join(PACKAGES))


def enter(root: Path, command: list[str], **environment: str) -> int:
    """Runs a command in the root, in the repository, which is there at the same path.

    In a mount namespace of its own, so that nothing is left mounted whatever happens.
    """
    inside = Path(f"{root}{REPOSITORY}")
    inside.mkdir(parents=True, exist_ok=True)
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf"):
        if Path(name).exists():
            shutil.copy(name, f"{root}{name}")
    mounts = " && ".join(
        [
            f'mount --bind "{REPOSITORY}" "{inside}"',
            f'mount -t proc proc "{root}/proc"',
            f'mount --rbind /dev "{root}/dev"',
            f'mount -t tmpfs tmpfs "{root}/tmp"',
        ]
    )
    variables = {
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "PATH": f"{VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TERM": os.environ.get("TERM", "dumb"),
        **environment,
    }
    script = f'{mounts} && exec chroot "{root}" /usr/bin/env -i -C "{REPOSITORY}" "$@"'
    words = [f"{name}={value}" for name, value in variables.items()] + command
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    return subprocess.run([*unshare, "sh", "-c", script, "sh", *words], check=False).returncode


def install(root: Path) -> None:
    """The Python packages that the tests need, unless a run before has installed the same ones."""
    wanted = hashlib.sha256(b"".join((REPOSITORY / name).read_bytes() for name in REQUIREMENTS))
    done = Path(f"{root}{VENV}/ntapi-ready")
    if done.exists() and done.read_text() == wanted.hexdigest():
        return
    pip = [f"{VENV}/bin/python", "-m", "pip", "install", "-q"]
    pip += [word for name in REQUIREMENTS for word in ("-r", name)]
    # This machine's own way to the packages: whom it trusts, and its index.
    trusted = "/opt/trusted.pem"
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", f"{root}{trusted}")
    environment = {name: value for name, value in os.environ.items() if name in PIP_SETTINGS}
    for command in (["python3", "-m", "venv", "--clear", VENV], pip):
        if enter(root, command, PIP_CERT=trusted, **environment) != 0:
            sys.exit(f"{' '.join(command)} has failed in the root")
    done.write_text(wanted.hexdigest())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--root", type=Path, default=REPOSITORY / ".debian13", help="the folder of Debian 13"
    )
    parser.add_argument("--mirror", help="in place of apt's own")
    parser.add_argument("--only", choices=SUITES, help="one suite; what follows goes to it")
    options, more = parser.parse_known_args()
    if os.geteuid() != 0:
        sys.exit("only root can make and enter another system's folder: run this with sudo")
    root = options.root.resolve()
    make(root, options.mirror)
    install(root)
    failed = []
    for name in [options.only] if options.only else ["c", "python"]:
        servers = [f"{VENV}/bin/python", "Tests/servers/run.py", "--"]
        environment = {
            "NTAPI_LIBRARY": str(REPOSITORY / "build/libntapi.so.0"),
            "PYTHONPATH": str(REPOSITORY / "bindings/python/src"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if enter(root, [*servers, *SUITES[name], *more], **environment) != 0:
            failed.append(name)
    sys.exit(f"failed on Debian 13: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
