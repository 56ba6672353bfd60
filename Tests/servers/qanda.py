"""The Q&A API server: `python3 qanda.py` prints its base URL and serves.

The shapes are those of the Stack Exchange API v2.3. Ends as weather.py does, and needs nothing but Python 3.9 or later.
"""

from __future__ import annotations

from qanda_app.handler import Handler
from serving import LocalServer, serve

if __name__ == "__main__":
    serve(LocalServer(Handler))
