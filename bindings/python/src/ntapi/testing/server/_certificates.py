"""A certificate authority that lives as long as its server."""

from __future__ import annotations

import ssl
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme

from ._log import TLSInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_HOSTS = ("localhost", "127.0.0.1", "::1")
_NAME = "_ntapi_server_name"


class Certificates:
    """The authority, a certificate for each host that clients name, and one for clients."""

    def __init__(self, client_certificates: Optional[str], protocols: list[str]) -> None:
        self._authority = trustme.CA()
        self._protocols = protocols
        self._mode = {
            None: ssl.CERT_NONE,
            "optional": ssl.CERT_OPTIONAL,
            "required": ssl.CERT_REQUIRED,
        }[client_certificates]
        self._folder = TemporaryDirectory(prefix="ntapi-server-")
        folder = Path(self._folder.name)
        self.authority = folder / "ca.pem"
        """The file with the authority's certificate."""
        self._authority.cert_pem.write_to_path(str(self.authority))
        self.client = folder / "client.pem"
        """The file with a client's private key and certificate."""
        client = self._authority.issue_cert("client@example.org", common_name="ntapi test client")
        client.private_key_and_cert_chain_pem.write_to_path(str(self.client))
        self._context_of = lru_cache(maxsize=None)(self._new_context)
        self.context = self._context_of(None)

    def _new_context(self, host: Optional[str]) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = self._mode
        self._authority.configure_trust(context)
        names = _HOSTS if host is None or host in _HOSTS else (host,)
        self._authority.issue_cert(*names).configure_cert(context)
        context.set_alpn_protocols(self._protocols)
        context.sni_callback = self._choose
        return context

    def _choose(self, tls: ssl.SSLObject, host: Optional[str], _: ssl.SSLContext) -> Optional[int]:
        """Gives a connection the certificate of the host that the client has named."""
        setattr(tls, _NAME, host)
        if host is not None:
            tls.context = self._context_of(host)
        return None

    def close(self) -> None:
        self._folder.cleanup()


def tls_info(tls: ssl.SSLObject) -> TLSInfo:
    """What a connection has agreed on."""
    cipher = tls.cipher()
    return TLSInfo(
        tls.version() or "",
        cipher[0] if cipher else "",
        tls.selected_alpn_protocol(),
        getattr(tls, _NAME, None),
        tls.getpeercert() or None,
    )
