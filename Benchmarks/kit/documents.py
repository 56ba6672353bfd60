"""The bodies that the server sends: JSON as a web API answers it, and a large file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

# The number that every client reads at meta.total. It stands at the very end, so that nobody can stop early.
TOTAL = 4711
SMALL, LARGE, FILE = 1024, 100 * 1024, 256 * 1024 * 1024
# An array of forty large documents.
HUGE = 40 * (LARGE + 1) + 1


def record(number: int) -> dict[str, object]:
    """One element of the list: mostly text, as APIs are, nested, with a value of each type."""
    return {
        "id": 4711 + number,
        "name": f"Zoë Quinn {number}",
        "email": f"zoe.quinn.{number}@mail.example.org",
        "url": f"https://api.example.org/v2/people/{4711 + number}",
        "avatar": f"https://images.example.org/people/{4711 + number}/large.png?version=12",
        "about": "Writes about weather, maps and the sea. Lives in Bristol with two cats, "
        'a telescope and far too many "borrowed" books.',
        "created": "2024-03-01T12:34:56Z",
        "active": number % 2 == 0,
        "manager": None,
        "place": {"city": "Bristol", "lat": 51.4545, "lon": -2.5879},
        "roles": ["reader", "editor"],
        "score": round(0.875 + number / 8, 3),
    }


def text_of(records: list[dict[str, object]], tags: list[str], pad: str) -> bytes:
    """The whole document, without a needless space, as web APIs send it."""
    meta = {"page": 1, "total": TOTAL}
    whole = {"list": records, "tags": tags, "pad": pad, "meta": meta}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


def json_of_size(size: int) -> bytes:
    """An object of exactly that many bytes: records, tags for what is left, and `meta` as the last member."""
    records: list[dict[str, object]] = []
    tags: list[str] = []
    while len(text_of([*records, record(len(records))], tags, "")) <= size:
        records.append(record(len(records)))
    while len(text_of(records, [*tags, f"tag {len(tags)}"], "")) <= size:
        tags.append(f"tag {len(tags)}")
    return text_of(records, tags, "x" * (size - len(text_of(records, tags, ""))))


def write_documents(folder: Path) -> None:
    """The files served; the large one is sparse and takes no room on the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.json").write_bytes(json_of_size(SMALL))
    (folder / "large.json").write_bytes(json_of_size(LARGE))
    huge = b"[" + b",".join([json_of_size(LARGE)] * 40) + b"]"
    (folder / "packed").mkdir(exist_ok=True)
    (folder / "packed/huge.json").write_bytes(gzip.compress(huge, mtime=0))
    with (folder / "file.bin").open("wb") as large:
        large.truncate(FILE)
