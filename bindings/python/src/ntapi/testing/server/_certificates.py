"""A certificate authority that lives as long as its server."""

from __future__ import annotations

import ssl
from datetime import datetime
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from ._log import TLSInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

_HOSTS = ("localhost", "127.0.0.1", "::1")
_SERVER_NAME = "_ntapi_server_name"


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
        self._pattern = self._authority.issue_cert("localhost")
        self._pair = folder / "pair.pem"
        self._context_of = lru_cache(maxsize=None)(self._new_context)

    def context(self, host: Optional[str]) -> ssl.SSLContext:
        """The context with the certificate of a host; None is for a client that has named none."""
        return self._context_of(None if not host or host in _HOSTS else host)

    def _new_context(self, host: Optional[str]) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = self._mode
        self._authority.configure_trust(context)
        self._pair.write_bytes(self._key_and_certificate(_HOSTS if host is None else (host,)))
        context.load_cert_chain(self._pair)
        context.set_alpn_protocols(self._protocols)
        context.sni_callback = self._choose
        return context

    def _key_and_certificate(self, hosts: Iterable[str]) -> bytes:
        """A private key, and a certificate for these hosts. It is made from one of trustme, because
        trustme refuses names that clients use but the DNS does not have, such as `my_service`.
        """
        pattern = x509.load_pem_x509_certificate(self._pattern.cert_chain_pems[0].bytes())
        builder = x509.CertificateBuilder(
            issuer_name=pattern.issuer,
            subject_name=pattern.subject,
            public_key=pattern.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=datetime(2000, 1, 1),
            not_valid_after=datetime(3000, 1, 1),
        )
        for extension in pattern.extensions:
            value = extension.value
            if isinstance(value, x509.SubjectAlternativeName):
                value = x509.SubjectAlternativeName(map(_name, hosts))
            builder = builder.add_extension(value, extension.critical)
        key = load_pem_private_key(self._authority.private_key_pem.bytes(), None)
        assert isinstance(key, EllipticCurvePrivateKey)
        made: bytes = builder.sign(key, SHA256()).public_bytes(Encoding.PEM)
        private: bytes = self._pattern.private_key_pem.bytes()
        return private + made

    def _choose(self, tls: ssl.SSLObject, host: Optional[str], _: ssl.SSLContext) -> Optional[int]:
        """Gives a connection the certificate of the host that the client has named."""
        setattr(tls, _SERVER_NAME, host)
        if host is not None:
            tls.context = self.context(host)
        return None

    def close(self) -> None:
        self._folder.cleanup()


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def tls_info(tls: ssl.SSLObject) -> TLSInfo:
    """What a connection has agreed on."""
    cipher = tls.cipher()
    return TLSInfo(
        tls.version() or "",
        cipher[0] if cipher else "",
        tls.selected_alpn_protocol(),
        getattr(tls, _SERVER_NAME, None),
        tls.getpeercert() or None,
    )
