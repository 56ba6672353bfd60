"""How the settings of other libraries become a configuration of NTApi. What cannot be honoured is
refused with a ValueError that has the reason.
"""

from __future__ import annotations

import os
import ssl
from typing import Any, Optional, Union

from .. import arg
from .._args import Arg
from .._config import SessionConfiguration

Certificate = Union[str, tuple[str, str], tuple[str, str, Optional[str]], None]
_MANY = 100_000
"""Stands for no limit on connections."""
_HTTP1 = arg.option("http_version", "1.1")


class Settings:
    """A configuration, and what goes with each of its requests."""

    def __init__(self) -> None:
        self.configuration = SessionConfiguration.ephemeral(
            cookie_accept_policy="never", uses_cache=False, credential_storage=None
        )
        self._args: tuple[Arg, ...] = ()
        self._offers_http2 = False
        self._certificates: Optional[_MemoryFile] = None

    def args_for(self, scheme: str) -> tuple[Arg, ...]:
        """The args of each request to a URL with this scheme."""
        if self._offers_http2 and scheme == "http":
            # Without TLS nothing is negotiated: NTApi would begin with HTTP/2.
            return (*self._args, _HTTP1)
        return self._args

    def limit(self, maximum: Optional[int], idle: Optional[int] = None) -> None:
        """Sets how many connections may be open, to all hosts together. Idle connections count, and
        have no limit of their own.
        """
        if idle == 0:
            raise ValueError(
                "NTApi always keeps connections: for one request each, send the header "
                "`Connection: close`"
            )
        if maximum is not None:
            self.configuration.maximum_connections = maximum
        self.configuration.maximum_connections_per_host = maximum or _MANY

    def use_proxy(
        self, url: str, user: Optional[str] = None, password: Optional[str] = None
    ) -> None:
        """Sets the proxy; "" for none."""
        self.configuration.proxy = url
        if user is not None:
            self.configuration.proxy_user = user
            self.configuration.proxy_password = password or ""

    def use_version(self, http1: bool, http2: bool) -> None:
        """Sets the versions of HTTP that are offered."""
        if not http1:
            raise ValueError(
                "http1=False is not possible: NTApi offers HTTP/2, and the server may choose "
                "HTTP/1.1"
            )
        self.configuration.http_version = "2" if http2 else "1.1"
        self._offers_http2 = http2

    def show(self, certificate: Certificate) -> None:
        """Sets the certificate that servers may ask for: a PEM file, or the files of the
        certificate and its key, and the key's password.
        """
        if certificate is None:
            return
        parts = (certificate,) if isinstance(certificate, str) else certificate
        names = ("client_certificate", "client_key", "client_key_password")
        for name, part in zip(names, parts):
            if part is not None:
                setattr(self.configuration, name, os.fspath(part))
        for path in parts[:2]:
            if path is not None and not os.path.exists(path):
                raise OSError(f"there is no file of a certificate or key {path!r}")

    def trust(self, verify: Union[bool, str, os.PathLike[str], ssl.SSLContext]) -> None:
        """Sets which servers are trusted: those of the system's certificates, all, those of a PEM
        file, or those that a context trusts.
        """
        if isinstance(verify, ssl.SSLContext):
            self._trust_as(verify)
        elif not isinstance(verify, bool):
            path = os.fspath(verify)
            if os.path.isdir(path):
                raise ValueError(f"{path!r} is a folder; NTApi needs one file of certificates")
            if not os.path.exists(path):
                raise OSError(f"there is no file of certificates {path!r}")
            self.configuration.ca_file = path
        elif not verify:
            self._args += (arg.option("allow_invalid_certificate"),)

    def _trust_as(self, context: ssl.SSLContext) -> None:
        """NTApi does TLS itself: a context may only ask for what NTApi can do."""
        if context.verify_mode is ssl.CERT_NONE and not context.check_hostname:
            return self.trust(False)
        usual = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        default = ssl.create_default_context(cadata=None)
        problem = ""
        if context.verify_mode is not ssl.CERT_REQUIRED or not context.check_hostname:
            problem = "it checks certificates, but not host names"
        elif context.maximum_version not in (
            ssl.TLSVersion.MAXIMUM_SUPPORTED,
            ssl.TLSVersion.TLSv1_3,
        ):
            problem = "it has a highest version of TLS"
        elif context.get_ciphers() not in (usual.get_ciphers(), default.get_ciphers()):
            problem = "it has its own list of ciphers"
        elif context.verify_flags & ~(usual.verify_flags | default.verify_flags):
            problem = "it checks revocation or other things"
        elif context.options & ~(usual.options | default.options):
            problem = "it sets options of OpenSSL"
        if problem:
            raise ValueError(f"NTApi cannot do what this ssl.SSLContext says: {problem}")
        if context.minimum_version is ssl.TLSVersion.TLSv1_3:
            self.configuration.tls_minimum_version = "1.3"
        self._trust_those_of(context)
        return None

    def _trust_those_of(self, context: ssl.SSLContext) -> None:
        if type(context).__module__.partition(".")[0] == "truststore":
            # It stands for the system's certificates.
            return
        certificates = context.get_ca_certs(binary_form=True)
        counts = context.cert_store_stats()
        if not certificates:
            raise ValueError(
                "the certificates that this ssl.SSLContext trusts cannot be read: it has none, or "
                "those of a folder. For the system's certificates write verify=True, for others "
                "the path of a file"
            )
        if counts["crl"] or counts["x509"] != len(certificates):
            raise ValueError(
                "this ssl.SSLContext has revocation lists, or certificates of servers, that cannot "
                "be read: write the path of a file of certificates"
            )
        text = "".join(ssl.DER_cert_to_PEM_cert(each) for each in certificates)
        self._certificates = _MemoryFile(text.encode())
        self.configuration.ca_file = self._certificates.path


class _MemoryFile:
    """A file in memory, which this process and its children can open by a path."""

    def __init__(self, content: bytes) -> None:
        self._descriptor = os.memfd_create("certificates")
        os.write(self._descriptor, content)
        self.path = f"/proc/self/fd/{self._descriptor}"

    def __del__(self, close: Any = os.close) -> None:
        if "_descriptor" in self.__dict__:
            close(self._descriptor)
