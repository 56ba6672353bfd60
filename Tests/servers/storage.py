"""The file storage: `python3 storage.py` prints its base URL and serves.

The Dropbox Core API v1 in memory, for the example Byte Club; ends as weather.py does, and needs as
little. The application is `byteclub` with the secret `club secret`. Users let it in at the page
/1/oauth/authorize, each by a name, which is their account; any other token is an account of its own,
and its secret is its name backwards. `POST /faults` orders a trouble (storage_app/faults.py),
`GET /log?token=` says what was asked for.
"""

from __future__ import annotations

from serving import serve
from storage_app import calls, oauth
from storage_app.handler import StorageServer

CALL_MODULES = (calls, oauth)
"""Their import registers the calls."""


if __name__ == "__main__":
    serve(StorageServer())
