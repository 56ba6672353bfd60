"""Builds each fuzz target of Tests/fuzz and runs it for a minute. Needs clang's libFuzzer, which comes with Swift."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/fuzz"
SECONDS = int(os.environ.get("NTAPI_FUZZ_SECONDS", "60"))


def command_of(source: Path) -> str:
    """The build command of a target: its first comment lines that begin with four spaces."""
    lines = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        text = line.removeprefix("///").removeprefix("//")
        if text.startswith("     "):
            lines.append(text.strip())
    build = " ".join(line.removesuffix("\\").strip() for line in lines)
    start = build.index("swiftc")
    end = build.index("-o build/fuzz/")
    return build[start:end] + f"-o build/fuzz/{source.stem}"


def fuzz(source: Path) -> int:
    """Builds and runs one target; 0 when it found nothing."""
    corpus = FOLDER / f"{source.stem}-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    subprocess.run(["bash", "-c", command_of(source)], cwd=ROOT, check=True)
    limits = [f"-max_total_time={SECONDS}", "-max_len=4096", "-print_final_stats=1", "-verbosity=0"]
    artifacts = f"-artifact_prefix={FOLDER}/"
    run = [str(FOLDER / source.stem), *limits, artifacts, str(corpus)]
    # A target that cannot look for leaks says so, and why.
    leaks = "detect_leaks=0" if "detect_leaks=0" in source.read_text() else "detect_leaks=1"
    environment = os.environ | {"ASAN_OPTIONS": leaks}
    return subprocess.run(run, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Every target."""
    failed = 0
    targets = sorted((ROOT / "Tests/fuzz").glob("Fuzz*.swift"))
    for source in targets:
        print(f"--- {source.stem}: {SECONDS} s", flush=True)
        failed += fuzz(source) != 0
    print(f"{len(targets) - failed} passed, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
