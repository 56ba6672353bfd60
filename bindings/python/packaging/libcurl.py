"""Builds the libcurl of the bundled wheel, with OpenSSL in it, from Debian's source packages.

python libcurl.py build FOLDER [--plain-relocations]   FOLDER/lib/libcurl.so.4, FOLDER/licenses
python libcurl.py renew FOLDER                         writes the newest versions to libcurl.json

libcurl.json pins each package: the suites of Debian that may have it, its version, and the SHA-256
of its .dsc file, which has those of its archives. apt downloads them from the archive that this
machine has Debian's packages from. Its lists are in FOLDER, so the machine's stay as they are. The
other libraries are this machine's packages.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

HERE = Path(__file__).resolve()
PINS = HERE.with_name("libcurl.json")
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"

LINKED = {
    "libpsl-dev": ["libpsl.a"],
    "libidn2-dev": ["libidn2.a"],
    "libunistring-dev": ["libunistring.a"],
    "libbrotli-dev": ["libbrotlidec.a", "libbrotlicommon.a"],
    "libzstd-dev": ["libzstd.a"],
}
"""This machine's packages whose archives are linked in: the wheel gets only what libcurl calls."""
BESIDE = ["libnghttp2-dev", "zlib1g-dev"]
"""Those that stay shared libraries: nghttp2's archive cannot be linked into one, and any Linux has
zlib.
"""

SYMBOLS = """\
/* The version of Debian's libcurl, with which libntapi.so.0 is linked. That asks libpsl itself
   about the domains of cookies, so two functions of libpsl are exported. */
CURL_OPENSSL_4 { global: curl_*; psl_builtin; psl_is_cookie_domain_acceptable; local: *; };
/* libidn2.a names this version. Nothing of it is exported. */
IDN2_0.0.0 { };
"""
CODE = ["-fPIC", "-ffunction-sections", "-fdata-sections", "-fstack-protector-strong"]
CODE += ["-D_FORTIFY_SOURCE=2"]
LINK = ["-Wl,-z,relro,-z,now,-z,text,--no-undefined,-Bsymbolic,--gc-sections,-s"]
LINK += ["-Wl,--exclude-libs,libidn2.a"]

# TLS 1.2 and 1.3 for a client: no old ciphers, no programs, nothing that is loaded later, and none
# of the protocols that libcurl does not call. Debian looks for openssl.cnf in /usr/lib/ssl.
OPENSSL = ["--prefix=/usr", "--openssldir=/usr/lib/ssl"]
for _group in (
    "shared module dso engine legacy apps docs tests makedepend async thread-pool ui-console",
    "filenames ssl-trace ssl3 tls1 tls1_1 tls-deprecated-ec dtls quic psk srp srtp nextprotoneg",
    "comp cms ts cmp ct ocsp http rfc3779 argon2 aria bf blake2 camellia cast dsa ec2m gost idea",
    "md4 mdc2 ml-dsa multiblock ocb rc2 rc4 rmd160 seed siphash siv slh-dsa sm2 sm3 sm4 whirlpool",
):
    OPENSSL += [f"no-{name}" for name in _group.split()]
# OpenSSL calls no function of a program, so no backtrace goes through it: no unwind tables.
SMALL = ["-Os", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
UNROLLED = "crypto/modes/asm/aes-gcm-avx512.pl", "$avx512vaes = ($1 >= 2.30);", ""
"""A file of OpenSSL, and a line in it that goes: 0.7 MB of AES-GCM for AVX-512. That for AVX is
fast enough for JSON.
"""
# What NTApi calls: HTTP and HTTPS, HTTP/2, compression, cookies, Basic and Digest, proxies, IDN,
# Unix sockets, DNS over HTTPS.
CURL = {
    "HTTP_ONLY": "ON",
    "USE_NGHTTP2": "ON",
    "CURL_USE_OPENSSL": "ON",
    "CURL_ZLIB": "ON",
    "CURL_BROTLI": "ON",
    "CURL_ZSTD": "ON",
    "CURL_USE_LIBPSL": "ON",
    "USE_LIBIDN2": "ON",
    "CURL_USE_LIBSSH2": "OFF",
    "CURL_DISABLE_ALTSVC": "ON",
    "CURL_DISABLE_AWS": "ON",
    "CURL_DISABLE_BEARER_AUTH": "ON",
    "CURL_DISABLE_FORM_API": "ON",
    "CURL_DISABLE_HSTS": "ON",
    "CURL_DISABLE_KERBEROS_AUTH": "ON",
    "CURL_DISABLE_NEGOTIATE_AUTH": "ON",
    "CURL_DISABLE_NETRC": "ON",
    "CURL_DISABLE_NTLM": "ON",
    "CURL_DISABLE_SRP": "ON",
    "CURL_DISABLE_WEBSOCKETS": "ON",
    # NTApi looks elsewhere if this file does not exist.
    "CURL_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt",
    "CURL_CA_PATH": "none",
    "CURL_USE_PKGCONFIG": "OFF",
    "BUILD_CURL_EXE": "OFF",
    "BUILD_EXAMPLES": "OFF",
    "BUILD_LIBCURL_DOCS": "OFF",
    "BUILD_MISC_DOCS": "OFF",
    "BUILD_TESTING": "OFF",
    "ENABLE_CURL_MANUAL": "OFF",
    "PICKY_COMPILER": "OFF",
    "CMAKE_BUILD_TYPE": "Release",
}


class Pin(TypedDict):
    """A source package in libcurl.json."""

    suites: list[str]
    version: str
    sha256: str


def pinned() -> dict[str, Pin]:
    """What libcurl.json has."""
    pins: dict[str, Pin] = json.loads(PINS.read_text(encoding="utf-8"))
    return pins


def fail(why: str) -> SystemExit:
    """An error for people."""
    return SystemExit(f"libcurl: {why}")


def run(*command: str | Path, inside: Path | None = None) -> str:
    """Runs a command to its success; what it prints."""
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=inside, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise fail(f"this failed: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Archive:
    """The source packages of some suites of Debian, seen through lists of our own."""

    def __init__(self, folder: Path, suites: list[str]) -> None:
        folder = folder.resolve()
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        sources = folder / "debian.sources"
        sources.write_text("\n".join(self.entries(suites)), encoding="utf-8")
        self.suites = ", ".join(suites)
        settings = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": folder / "lists",
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "root",
        }
        self.options = [f"-o{name}={value}" for name, value in settings.items()]
        run("apt-get", *self.options, "-qq", "update")

    @staticmethod
    def entries(suites: list[str]) -> Iterable[str]:
        """The suites and their security updates, at the addresses that the machine's apt has."""
        updates = [f"{suite}-security" for suite in suites if suite != "sid"]
        names = {"Debian": " ".join(suites), "Debian-Security": " ".join(updates)}
        shown = run(
            "apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)", "Created-By: Packages"
        )
        found = sorted({line for line in shown.splitlines() if names.get(line.split("|")[0])})
        if not found:
            raise fail("apt on this machine is not set up with an archive of Debian")
        for label, address in (line.split("|") for line in found):
            yield f"Types: deb-src\nURIs: {address}\nSuites: {names[label]}"
            yield f"Components: main\nSigned-By: {KEYS}\n"

    def versions(self, package: str) -> list[str]:
        """All that the archive has, the newest first, without release candidates."""
        shown = run("apt-cache", *self.options, "showsrc", "--only-source", package)
        listed = {line.split()[1] for line in shown.splitlines() if line.startswith("Version: ")}
        found = {version for version in listed if "~rc" not in version}
        if not found:
            raise fail(f"Debian ({self.suites}) has no source package {package}")

        def compare(one: str, other: str) -> int:
            command = ["dpkg", "--compare-versions", one, "gt", other]
            return -1 if subprocess.run(command, check=False).returncode == 0 else 1

        return sorted(found, key=functools.cmp_to_key(compare))

    def download(self, package: str, version: str, folder: Path) -> Path | None:
        """The .dsc file, with its archives beside it; None if the archive does not deliver them."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = ["apt-get", *self.options, "-qq", "source", "--download-only", "--only-source"]
        done = subprocess.run(
            [*command, f"{package}={version}"],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            print(done.stderr, end="", file=sys.stderr)
            return None
        (found,) = folder.glob("*.dsc")
        return found


def sha256(file: Path) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def unpack(package: str, pin: Pin, folder: Path) -> Path:
    """The patched sources of the pinned version."""
    version = pin["version"]
    archive = Archive(folder / "apt" / package, pin["suites"])
    known = archive.versions(package)
    sources = folder / "sources" / package
    file = archive.download(package, version, sources) if version in known else None
    if file is None:
        raise fail(
            f"Debian's archive does not deliver {package} {version}; "
            f"it lists {', '.join(known)}. `make renew-libcurl` writes the newest version to "
            f"{PINS.relative_to(HERE.parents[3])}."
        )
    if sha256(file) != pin["sha256"]:
        raise fail(f"{file.name} has the SHA-256 {sha256(file)}, not that of {PINS.name}")
    if known[0] != version:
        print(f"libcurl: Debian has {package} {known[0]}, newer than {version}: make renew-libcurl")
    # It compares the archives with the hashes in the .dsc file.
    run("dpkg-source", "--extract", file, sources / "tree")
    return sources / "tree"


def build_openssl(source: Path) -> None:
    """libssl.a and libcrypto.a, small rather than fast: their inner loops are in assembler."""
    name, line, instead = UNROLLED
    text = (source / name).read_text(encoding="utf-8")
    if text.count(line) != 1:
        raise fail(f"OpenSSL's {name} has changed: see UNROLLED in {HERE.name}")
    (source / name).write_text(text.replace(line, instead), encoding="utf-8")
    run("perl", "Configure", *OPENSSL, *SMALL, *CODE, inside=source)
    run("make", f"-j{os.cpu_count()}", "build_libs", inside=source)


def archive_path(name: str) -> str:
    """Where the compiler finds it."""
    path = run("gcc", f"-print-file-name={name}").strip()
    if not Path(path).is_absolute():
        raise fail(f"{name} is missing: install {', '.join([*LINKED, *BESIDE])}")
    return path


def build_curl(source: Path, openssl: Path, folder: Path, link: list[str]) -> Path:
    """The shared library; OpenSSL and the archives of LINKED are in it."""
    paths = {name: archive_path(name) for names in LINKED.values() for name in names}
    symbols = folder / "symbols.map"
    symbols.write_text(SYMBOLS, encoding="utf-8")
    settings = {
        **CURL,
        "CMAKE_C_FLAGS": " ".join(["-O2", *CODE]),
        "CMAKE_C_FLAGS_RELEASE": "-DNDEBUG",
        "CMAKE_SHARED_LINKER_FLAGS": " ".join([*link, f'-Wl,--version-script="{symbols}"']),
        "OPENSSL_INCLUDE_DIR": openssl / "include",
        "OPENSSL_SSL_LIBRARY": openssl / "libssl.a",
        "OPENSSL_CRYPTO_LIBRARY": openssl / "libcrypto.a",
        "LIBPSL_LIBRARY": paths["libpsl.a"],
        # libpsl needs these two; they come after it.
        "LIBIDN2_LIBRARY": paths["libidn2.a"],
        "CMAKE_C_STANDARD_LIBRARIES": f"{paths['libidn2.a']} {paths['libunistring.a']}",
        "BROTLIDEC_LIBRARY": paths["libbrotlidec.a"],
        "BROTLICOMMON_LIBRARY": paths["libbrotlicommon.a"],
        "ZSTD_LIBRARY": paths["libzstd.a"],
    }
    build = folder / "build"
    options = [f"-D{name}={value}" for name, value in settings.items()]
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, *options)
    run("cmake", "--build", build)
    return build / "lib" / "libcurl.so.4"


def state(link: list[str]) -> str:
    """Changes with everything that the library is made of."""
    shown = run("dpkg-query", "--show", *LINKED, *BESIDE, "libc6-dev", "gcc")
    inputs = [HERE.read_text(encoding="utf-8"), PINS.read_text(encoding="utf-8"), *link, shown]
    return hashlib.sha256("\0".join(inputs).encode()).hexdigest()


def build(folder: Path, link: list[str]) -> None:
    """Everything, unless it is there already."""
    done = folder / "done"
    wanted = state(link)
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return
    pins = pinned()
    print(
        "Building the wheel's libcurl, with OpenSSL: three to five minutes on two cores", flush=True
    )
    shutil.rmtree(folder, ignore_errors=True)
    trees = {name: unpack(name, pin, folder) for name, pin in pins.items()}
    build_openssl(trees["openssl"])
    library = build_curl(trees["curl"], trees["openssl"], folder, link)
    for name in ("lib", "licenses"):
        (folder / name).mkdir()
    shutil.copy(library, folder / "lib" / "libcurl.so.4")
    texts = {name: tree / "debian/copyright" for name, tree in trees.items()}
    texts |= {
        name.removesuffix("-dev"): Path("/usr/share/doc") / name / "copyright" for name in LINKED
    }
    for name, text in texts.items():
        shutil.copy(text, folder / "licenses" / f"{name}.txt")
    done.write_text(wanted, encoding="utf-8")


def renew(folder: Path) -> None:
    """Pins the newest version of each source that the archive delivers."""
    pins = pinned()
    for package, pin in pins.items():
        archive = Archive(folder / "apt" / package, pin["suites"])
        for version in archive.versions(package):
            file = archive.download(package, version, folder / "newest" / package)
            if file is not None:
                break
            print(f"libcurl: the archive lists {package} {version}, but does not deliver it")
        else:
            raise fail(f"the archive delivers no version of {package}")
        news = "as before" if version == pin["version"] else f"was {pin['version']}"
        print(f"{package} {version}, {news}")
        pin["version"], pin["sha256"] = version, sha256(file)
    PINS.write_text(json.dumps(pins, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["build", "renew"])
    parser.add_argument("folder", type=Path, help="for everything that is downloaded and built")
    parser.add_argument("--plain-relocations", action="store_true", help="for glibc before 2.36")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.what == "renew":
        renew(folder)
    else:
        packed = [] if options.plain_relocations else ["-Wl,-z,pack-relative-relocs"]
        build(folder, [*LINK, *packed])


if __name__ == "__main__":
    main()
