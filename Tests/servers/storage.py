"""The file storage: `python3 storage.py` prints its base URL and serves.

The Dropbox Core API v1 in memory, for the example Byte Club. It ends as weather.py does, and needs
only Python. The application is `byteclub` with the secret `club secret`. Users allow it on the page
/1/oauth/authorize, with a name, which is their account. Any other token has an account of its own,
and its secret is the token backwards. `POST /faults` orders a fault (storage_app/faults.py); `GET
/log?token=` lists the requests.
"""

from __future__ import annotations

from serving import serve
from storage_app import calls, oauth
from storage_app.handler import StorageServer

CALL_MODULES = (calls, oauth)
"""Their import registers the calls."""


if __name__ == "__main__":
    serve(StorageServer())
