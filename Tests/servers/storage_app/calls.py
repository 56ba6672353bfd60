"""The calls of the API: account, metadata, files, search, thumbnails, operations on files."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from storage_app.handler import StorageHandler, call
from storage_app.store import QUOTA, Refused
from storage_app.thumbnail import FORMATS, SIZES


@call("GET", "account/info")
def account_info(handler: StorageHandler, _: str) -> None:
    account = handler.account
    used = sum(len(entry.data or b"") for entry in list(account.entries.values()))
    quota = {"shared": 0, "quota": QUOTA, "normal": used}
    name = account.name.capitalize()
    handler.answer_json(
        {
            "uid": sum(account.name.encode()),
            "display_name": name,
            "email": f"{account.name}@example.com",
            "country": "GB",
            "referral_link": f"https://storage.example/referrals/{account.name}",
            "quota_info": quota,
        }
    )


@call("GET", "metadata")
def metadata(handler: StorageHandler, argument: str) -> None:
    entry = handler.account.find(handler.place(argument))
    is_listed = handler.value("list", "true") == "true"
    handler.answer_json(handler.account.metadata(entry, with_contents=is_listed))


@call("GET", "files")
def files(handler: StorageHandler, argument: str) -> None:
    entry = handler.account.find(handler.place(argument))
    if entry.data is None:
        raise Refused(404, f"'{entry.path}' is a folder")
    about = json.dumps(handler.account.metadata(entry))
    headers = {"ETag": f'"{entry.rev}"', "x-dropbox-metadata": about}
    handler.send_file(entry.data, entry.mime_type or "", headers)


@call("PUT", "files_put")
def files_put(handler: StorageHandler, argument: str) -> None:
    path = handler.place(argument)
    data = handler.received()
    with handler.account.lock:
        overwrite = handler.value("overwrite", "true") == "true"
        entry = handler.account.upload(path, data, overwrite, handler.value("parent_rev") or None)
    handler.answer_json(handler.account.metadata(entry))


@call("GET", "search")
def search(handler: StorageHandler, argument: str) -> None:
    words = handler.value("query").lower().split()
    if len("".join(words)) < 3:
        raise Refused(400, "Query must be at least 3 characters")
    entries = handler.account.below(handler.place(argument))
    named = [(entry.path.rpartition("/")[2].lower(), entry) for entry in entries]
    found = [entry for name, entry in named if all(word in name for word in words)]
    limit = int(handler.number("file_limit", 1000))
    handler.answer_json([handler.account.metadata(entry) for entry in found[:limit]])


@call("GET", "thumbnails")
def thumbnails(handler: StorageHandler, argument: str) -> None:
    """As PNG, or as a portable pixmap, which needs no decoder, if the client accepts that."""
    entry = handler.account.find(handler.place(argument))
    size = SIZES.get(handler.value("size", "s"))
    if size is None:
        raise Refused(400, "Expected 'size' to be xs, s, m, l or xl")
    if not entry.is_photo or handler.value("format") != "png":
        raise Refused(415, "Thumbnail cannot be made")
    headers = {"x-dropbox-metadata": json.dumps(handler.account.metadata(entry))}
    accepted = handler.headers.get("Accept", "")
    kind = next((name for name in FORMATS if name in accepted), "image/png")
    handler.send_file(FORMATS[kind](entry.data or b"", size), kind, headers)


@call("POST", "fileops")
def fileops(handler: StorageHandler, name: str) -> None:
    """create_folder and delete need `root` and `path`; copy and move need `from_path` and
    `to_path`.
    """
    fields = dict(parse_qsl(handler.whole_body().decode("utf-8", "replace")))

    def path(key: str) -> str:
        if key not in fields:
            raise Refused(400, f"Missing parameter '{key}'")
        return handler.place(f"{fields.get('root', '')}/{fields[key].strip('/')}")

    account = handler.account
    with account.lock:
        if name == "create_folder":
            if path("path").lower() in account.entries:
                raise Refused(403, "already exists")
            entry = account.put(path("path"), None)
        elif name == "delete":
            entry = account.find(path("path"))
            account.delete(entry.path)
            return handler.answer_json({**account.metadata(entry), "is_deleted": True})
        elif name in ("copy", "move"):
            source = path("from_path")
            entry = account.copy(source, path("to_path"))
            if name == "move":
                account.delete(source)
        else:
            raise Refused(404, f"No operation '{name}'")
    handler.answer_json(account.metadata(entry))
