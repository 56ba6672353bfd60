"""Installs the packages of dist on Debian 12 and 13 as their users do, and runs the suites with
them.

    sudo .venv/bin/python Tests/tools/systems.py                             everything
    sudo .venv/bin/python Tests/tools/systems.py --on debian13 --only c -R fork      ctest with these options
    sudo .venv/bin/python Tests/tools/systems.py --on debian12 --only python -k fork
    sudo .venv/bin/python Tests/tools/systems.py --on debian13 --only shell  a shell beside the servers
    .venv/bin/python Tests/tools/systems.py --on wheel                       all tests with the wheel's libcurl
    .venv/bin/python Tests/tools/systems.py --on newest                      the same with the newest libcurl

Each system has two folders, which debootstrap fills once from the mirror of this machine's apt: `clean` has Python and
nothing else, `full` has what the suites need. They are kept: --roots, or .systems. Nothing in them reaches a network.

The wheel's libcurl is that of the bundled wheel; the newest is that of pycurl's wheel. They are loaded on this machine in
place of the system's.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from run_suites import swift

REPOSITORY = Path(__file__).resolve().parents[2]
DIST = REPOSITORY / "dist"
CLEAN = ["python3", "python3-venv"]
FULL = [
    *CLEAN,
    "ca-certificates",
    "cmake",
    "curl",
    "gcc",
    "libc6-dev",
    "libcmocka-dev",
    "libcurl4-openssl-dev",
    "libevent-dev",
    "libffi-dev",
    "libglib2.0-dev",
    "libjansson-dev",
    "libuv1-dev",
    "zlib1g-dev",
    "luajit",
    "make",
    "ninja-build",
    "nginx-light",
    "openssl",
    "pkg-config",
    "procps",
    "python3-dev",
]
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
REQUIREMENTS = ["Tests/servers/requirements.txt", "Tests/tools/requirements.txt"]
PIP_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "http_proxy", "https_proxy", "no_proxy")
VENV = "/opt/ntapi-venv"
"""The virtual environment of the suites, in the root. It sees the system's packages, and so the
installed ntapi.
"""
BUILD = "/opt/ntapi-build"
"""The folder in the root in which the C suite is built."""
VOLATILE = (
    "dev",
    "proc",
    "tmp",
    "etc/ssl",
    "etc/pki",
    "opt/ntapi",
    "root/.bash",
    "var/cache",
    "var/lib/apt",
    "var/lib/dpkg",
    "var/log",
)
"""Paths that packages may change, or the tests need; relative to the root."""

SUITES = {
    "c": ["ctest", "--test-dir", BUILD, "--output-on-failure", "--timeout", "1500"],
    "python": [
        f"{VENV}/bin/python",
        "-m",
        "pytest",
        "-q",
        "--timeout=600",
        # pip downloads tools to build a wheel, and the root has no network.
        "--deselect=tests/test_library.py::test_the_wheel_carries_the_library",
        "bindings/python/tests",
    ],
    "docs": [
        f"{VENV}/bin/python",
        "Tests/docs/check_examples.py",
        "--installed",
        "--only",
        "c,python,lua",
    ],
    "shell": ["bash"],
}


DIFFERENT = [
    f"--deselect=tests/{test}"
    for test in (
        # This libcurl has no zstd, which is in the recorded Accept-Encoding.
        "test_recorder.py::test_a_recording_is_replayed",
        # The loader writes a warning to standard error, where the test expects nothing.
        "test_examples.py::test_transfer",
    )
]
"""Tests that differ with the newest libcurl: see docs/systems.md."""
# They copy the library, without the folder of libraries beside it.
BUNDLED = ["--deselect=tests/test_library.py::test_a_missing_dependency_is_named"]
"""Tests that do not apply to the bundled wheel."""
DIFFERENT_IN_SWIFT = [
    "CookieTests/attributes",
    "CookieTests/sendsNone",
    "EasyHandleTests/eachURLIsItself",
    # libcurl decodes the body itself.
    "EngineFaultTests/decompressesSomeInEachTurn",
]
"""Tests that differ with a new libcurl: see docs/systems.md."""


@dataclass(frozen=True)
class System:
    """One Debian."""

    name: str
    suite: str
    redis: str
    """The program, and the package, that the tests have for Redis."""


DEBIAN12 = System("debian12", "bookworm", "redis-server")
DEBIAN13 = System("debian13", "trixie", "valkey-server")
SYSTEMS = {system.name: system for system in (DEBIAN12, DEBIAN13)}


def mirror() -> str:
    """The mirror from which apt gets Debian's main packages."""
    targets = ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)"]
    for line in subprocess.check_output([*targets, "Created-By: Packages"], text=True).splitlines():
        origin, label, uri = line.split("|")
        if origin == label == "Debian":
            return uri
    sys.exit("apt knows no mirror of Debian: name one with --mirror")


def make(root: Path, system: System, packages: list[str], url: str | None) -> None:
    """Fills a folder, unless an earlier run has."""
    done = root / ".ntapi-ready"
    if done.exists() and done.read_text() == " ".join(packages):
        return
    if root.exists():
        shutil.rmtree(root)
    root.mkdir(parents=True)
    print(f"--- debootstrap of {system.name}/{root.name}, about two minutes", flush=True)
    options = ["--variant=minbase", f"--include={','.join(packages)}", f"--keyring={KEYS}"]
    command = ["debootstrap", *options, system.suite, str(root), url or mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    done.write_text(" ".join(packages))


def enter(root: Path, command: list[str], network: bool = False, **environment: str) -> int:
    """Runs a command in the root and returns its exit status. The repository is at the same path
    there.

    It has its own namespaces, so that nothing stays mounted. Without the network, it has the
    loopback interface and another one, because the library checks whether there is one.
    """
    inside = Path(f"{root}{REPOSITORY}")
    inside.mkdir(parents=True, exist_ok=True)
    mounts = [
        f'mount --bind "{REPOSITORY}" "{inside}"',
        f'mount -t proc proc "{root}/proc"',
        f'mount --rbind /dev "{root}/dev"',
        f'mount -t tmpfs tmpfs "{root}/tmp"',
    ]
    spaces = ["--mount", "--pid", "--propagation", "private"]
    if network:
        for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf"):
            if Path(name).exists():
                shutil.copy(name, f"{root}{name}")
    else:
        spaces.append("--net")
        Path(f"{root}/etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
        mounts += [
            "ip link set lo up",
            "ip link add outside type veth peer name inside",
            "ip address add 192.0.2.1/24 dev outside",
            "ip link set outside up",
            "ip link set inside up",
        ]
    variables = {
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "PATH": f"{VENV}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TERM": os.environ.get("TERM", "dumb"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "DEBIAN_FRONTEND": "noninteractive",
        **environment,
    }
    script = f'{" && ".join(mounts)} && exec chroot "{root}" /usr/bin/env -i -C "{REPOSITORY}" "$@"'
    words = [f"{name}={value}" for name, value in variables.items()] + command
    unshare = ["unshare", *spaces, "--fork", "--kill-child"]
    return subprocess.run([*unshare, "sh", "-c", script, "sh", *words], check=False).returncode


def must(root: Path, *command: str, network: bool = False, **environment: str) -> None:
    """Runs a command in the root that must succeed."""
    if enter(root, list(command), network, **environment) != 0:
        sys.exit(f"{' '.join(command)} has failed in {root}")


def prepare(root: Path) -> None:
    """Installs the Python packages that the tests need, unless an earlier run has."""
    wanted = hashlib.sha256(b"".join((REPOSITORY / name).read_bytes() for name in REQUIREMENTS))
    done = Path(f"{root}{VENV}/ntapi-ready")
    if done.exists() and done.read_text() == wanted.hexdigest():
        return
    # This machine's settings for packages: its certificates and its index.
    trusted = "/opt/ntapi-trusted.pem"
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", f"{root}{trusted}")
    environment = {name: value for name, value in os.environ.items() if name in PIP_SETTINGS}
    must(root, "python3", "-m", "venv", "--clear", "--system-site-packages", VENV)
    pip = [f"{VENV}/bin/python", "-m", "pip", "install", "-q"]
    pip += [word for name in REQUIREMENTS for word in ("-r", name)]
    must(root, *pip, network=True, PIP_CERT=trusted, **environment)
    done.write_text(wanted.hexdigest())


def set_up(system: System, roots: Path, url: str | None) -> None:
    """Both folders of a system."""
    make(roots / system.name / "full", system, [*FULL, system.redis], url)
    make(roots / system.name / "clean", system, CLEAN, url)
    prepare(roots / system.name / "full")


def packages(pattern: str) -> list[str]:
    """The paths of packages in dist, as apt and pip take them."""
    found = sorted(str(path) for path in DIST.glob(pattern))
    if not found:
        sys.exit(f"there is no dist/{pattern}: run `make packages` first")
    return found


def files(root: Path) -> set[str]:
    """The files in a root, without those that always change."""
    found = set()
    for folder, _, names in os.walk(root):
        below = os.path.relpath(folder, root)
        if not below.startswith(VOLATILE) and not f"{root}/{below}".startswith(
            f"{root}{REPOSITORY}"
        ):
            found |= {f"{below}/{name}" for name in [*names, ""]}
    return found


def others(root: Path) -> set[str]:
    """The files of installed packages. apt keeps some packages that came with ours, because others
    recommend them.
    """
    found = set()
    for names in Path(f"{root}/var/lib/dpkg/info").glob("*.list"):
        for name in names.read_text(encoding="utf-8").split("\n"):
            # In Debian 12 some packages still name /lib, which is a link to /usr/lib.
            path = f"usr{name}" if name.startswith("/lib") else name[1:]
            found |= {path, f"{path}/"}
    return found


def install(root: Path) -> None:
    """Installs the Debian packages, and their dependencies from what debootstrap has left."""
    must(
        root,
        "apt-get",
        "-qq",
        "-o",
        "APT::Sandbox::User=root",
        "install",
        "--no-install-recommends",
        "-y",
        *packages("*.deb"),
    )


OURS = ["python3-ntapi", "libntapi-redis-dev", "libntapi-redis0", "libntapi-dev", "libntapi0"]


def uninstall(root: Path) -> None:
    """Removes the packages, if installed, and what came with them."""
    must(root, "dpkg", "--purge", *OURS)
    must(root, "apt-get", "-qq", "autoremove", "--purge", "-y")


@contextmanager
def installed(root: Path) -> Iterator[list[str]]:
    """The Debian packages are installed in this block. After it, the list has the files that they
    left.
    """
    left: list[str] = []
    uninstall(root)
    before = files(root)
    install(root)
    try:
        yield left
    finally:
        uninstall(root)
        left += sorted(files(root) - before - others(root))


def make_certificate(root: Path) -> str:
    """A folder in the root with a certificate for localhost that signs itself."""
    name = "/opt/ntapi-certificates"
    folder = Path(f"{root}{name}")
    folder.mkdir(parents=True)
    file = str(folder / "localhost.pem")
    request = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        file,
        "-out",
        file,
    ]
    request += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(request, check=True, capture_output=True)
    digest = subprocess.check_output(
        ["openssl", "x509", "-hash", "-noout", "-in", file], text=True
    ).strip()
    shutil.copy(file, folder / f"{digest}.0")
    return name


def readme_line() -> str:
    """The README's command to install the wheel."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    found = re.search(r"`([^`]*pip install [^`]*manylinux[^`]*)`", text)
    return found[1] if found else sys.exit("README.md does not say how to install the wheel")


def clean(system: System, roots: Path) -> list[str]:
    """On a Debian with only Python: installs, runs the README's programs, uninstalls; then the same
    with the wheel. Returns what has failed.
    """
    failed = []
    with tempfile.TemporaryDirectory(dir=roots) as folder:
        root = Path(folder) / "root"
        subprocess.run(["cp", "-a", roots / system.name / "clean", root], check=True)
        archives = f"{root}/var/cache/apt/archives"
        for archive in (roots / system.name / "full/var/cache/apt/archives").glob("*.deb"):
            shutil.copy(archive, archives)
        check = ["Tests/tools/clean_system.py", make_certificate(root)]
        with installed(root) as left:
            if enter(root, ["python3", *check]) != 0:
                failed.append("the Debian packages")
        failed += [f"the Debian packages leave {name}" for name in left]
        before = files(root)
        wheels = " ".join(packages("ntapi-*manylinux*.whl"))
        line = f"cd /srv && mkdir dist && cp {wheels} dist && {readme_line()}"
        must(root, "sh", "-c", line, PIP_NO_INDEX="1", PIP_QUIET="1")
        python = "/srv/venv/bin/python"
        if enter(root, [python, *check, "--bundled"]) != 0:
            failed.append("the wheel")
        must(root, python, "-m", "pip", "uninstall", "-q", "-y", "ntapi")
        site = sorted(Path(f"{root}/srv/venv").glob("lib/python3*/site-packages/ntapi*"))
        failed += [f"the wheel leaves {path}" for path in site]
        shutil.rmtree(f"{root}/srv")
        Path(f"{root}/srv").mkdir()
        failed += [f"the wheel leaves {name}" for name in sorted(files(root) - before)]
    return failed


def run_suite(system: System, root: Path, name: str, more: list[str]) -> list[str]:
    """Runs a suite in the full root. Returns what has failed."""
    failed = []
    with installed(root) as left:
        if name in ("c", "shell"):
            # A new folder, because the old one may be of other sources.
            options = ["--fresh", "-G", "Ninja", "-DNTAPI_INSTALLED=ON"]
            options += ["-DCMAKE_BUILD_TYPE=Release", "--log-level=WARNING"]
            must(root, "cmake", "-B", BUILD, "-S", str(REPOSITORY), *options)
            must(root, "cmake", "--build", BUILD)
        print(f"--- {system.name}: {name}", flush=True)
        servers = [f"{VENV}/bin/python", "Tests/servers/run.py", "--"]
        library = "/usr/lib/x86_64-linux-gnu/libntapi.so.0"
        # Not /root, where the servers would leave files behind.
        environment = {"HOME": "/tmp", "NTAPI_LIBRARY": library, "NTAPI_REDIS_SERVER": system.redis}
        if enter(root, [*servers, *SUITES[name], *more], False, **environment) != 0:
            failed.append(name)
    return failed + [f"the Debian packages leave {name}" for name in left]


def unpack(folder: Path, *wheels: str) -> Path:
    """Installs wheels into a new folder and returns it."""
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, "--only-binary", ":all:", *wheels], check=True)
    return folder


def bundled(roots: Path, more: list[str]) -> list[str]:
    """Tests the bundled wheel, and the C and Swift tests with its libcurl. Returns what has failed."""
    folder = unpack(roots / "wheel", *packages("*-manylinux_*.whl"))
    libraries = folder / "ntapi.libs"
    failed = run_python(folder, BUNDLED, more)
    return failed if more else failed + run_c(libraries) + run_swift(libraries)


def newest(roots: Path, more: list[str]) -> list[str]:
    """Tests the plain wheel with the libcurl of pycurl's wheel, and the C and Swift tests with that.
    Returns what has failed.
    """
    wheels = [*packages("*-linux_*.whl"), *packages("ntapi_redis-*.whl")]
    folder = unpack(roots / "newest", "pycurl", *wheels)
    libraries = folder / "pycurl.libs"
    failed = run_python(folder, DIFFERENT, more, **in_place_of_systems(libraries))
    return failed if more else failed + run_c(libraries) + run_swift(libraries)


def in_place_of_systems(libraries: Path) -> dict[str, str]:
    """The environment in which programs load the libcurl from a wheel's folder."""
    (libcurl,) = libraries.glob("libcurl-*.so.4*")
    link = libraries / "libcurl.so.4"
    if not link.exists():
        link.symlink_to(libcurl.name)
    return {"LD_LIBRARY_PATH": str(libraries)}


def run_python(folder: Path, options: list[str], more: list[str], **loader: str) -> list[str]:
    """Runs the Python suite on this machine, with the package in a folder. Returns what has
    failed.
    """
    library = str(folder / "ntapi/libntapi.so.0")
    environment = {**os.environ, **loader, "PYTHONPATH": str(folder), "NTAPI_LIBRARY": library}
    says = f"import ctypes; ctypes.CDLL({library!r}); print('---', *sorted({{line.split()[-1] "
    says += "for line in open('/proc/self/maps') if 'libcurl' in line}), flush=True)"
    subprocess.run([sys.executable, "-c", says], check=True, env=environment)
    command = [sys.executable, "Tests/servers/run.py", "--", sys.executable, *SUITES["python"][1:]]
    done = subprocess.run([*command, *options, *more], check=False, cwd=REPOSITORY, env=environment)
    return ["python"] if done.returncode != 0 else []


def run_c(libraries: Path) -> list[str]:
    """Runs the C tests of this machine's build, which was linked with the system's libcurl. Returns
    what has failed.
    """
    build = ["cmake", "-B", "build", "-G", "Ninja", "-DNTAPI_TESTS=ON", "--log-level=WARNING"]
    subprocess.run(build, check=True, cwd=REPOSITORY)
    subprocess.run(["cmake", "--build", "build"], check=True, cwd=REPOSITORY)
    environment = {**os.environ, **in_place_of_systems(libraries)}
    ctest = ["ctest", "--test-dir", "build", "--output-on-failure", "-L", "^c$"]
    command = [sys.executable, "Tests/servers/run.py", "--", *ctest]
    done = subprocess.run(command, check=False, cwd=REPOSITORY, env=environment)
    return ["c"] if done.returncode != 0 else []


def run_swift(libraries: Path) -> list[str]:
    """Runs the Swift tests with the same libcurl. Returns what has failed."""
    build, test = swift("", [])
    subprocess.run(
        build.command, check=True, cwd=REPOSITORY, env={**os.environ, **build.environment}
    )
    skipped = [word for name in DIFFERENT_IN_SWIFT for word in ("--skip", rf"\.{name}\(")]
    environment = {**os.environ, **test.environment, **in_place_of_systems(libraries)}
    command = [sys.executable, "Tests/servers/run.py", "--", *test.command, *skipped]
    done = subprocess.run(command, check=False, cwd=REPOSITORY, env=environment)
    return ["swift"] if done.returncode != 0 else []


HERE = {"wheel": bundled, "newest": newest}
"""The suites that run on this machine, with another libcurl."""


def main() -> None:
    """Runs everything, or the chosen part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--roots", type=Path, default=REPOSITORY / ".systems", help="the folder of the systems"
    )
    parser.add_argument("--mirror", help="in place of apt's own")
    parser.add_argument("--on", choices=[*SYSTEMS, *HERE], help="one system")
    parser.add_argument(
        "--only", choices=["clean", *SUITES], help="one suite; what follows goes to it"
    )
    options, more = parser.parse_known_args()
    roots = options.roots.resolve()
    chosen = [options.on] if options.on else [*SYSTEMS, *HERE]
    if options.on not in HERE and os.geteuid() != 0:
        sys.exit("only root can make and enter another system's folder: run this with sudo")
    failed = []
    lines = []
    for place in chosen:
        suites = [options.only] if options.only else ["clean", "c", "python", "docs"]
        if place not in HERE:
            set_up(SYSTEMS[place], roots, options.mirror)
        for name in suites if place not in HERE else ["python, c"]:
            begun = time.monotonic()
            if place in HERE:
                faults = HERE[place](roots, more)
            elif name == "clean":
                faults = clean(SYSTEMS[place], roots)
            else:
                faults = run_suite(SYSTEMS[place], roots / place / "full", name, more)
            failed += [f"{place}: {fault}" for fault in faults]
            outcome = "FAILED" if faults else "passed"
            lines.append(f"  {place} {name:<8} {time.monotonic() - begun:6.0f} s  {outcome}")
    print("\n=== summary", *lines, *failed, sep="\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
