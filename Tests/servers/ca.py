"""A test CA and leaf certificates, right and wrong, as PEM files.

`python ca.py DIR` writes `ca.pem`, and a `.pem` (chain) and `.key` each for `server` (localhost,
127.0.0.1 and ::1), `expired`, `wrong-host`, `self-signed`, and `client`.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAMES = ("localhost", "127.0.0.1", "::1")


def write_leaf(leaf: trustme.LeafCert, folder: Path, name: str) -> None:
    """Writes a certificate with its chain, and its private key."""
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    (folder / f"{name}.pem").write_bytes(chain)
    leaf.private_key_pem.write_to_path(folder / f"{name}.key")


def write_self_signed(folder: Path) -> None:
    """Writes a self-signed certificate for localhost."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "self-signed.pem").write_bytes(certificate.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "self-signed.key").write_bytes(secret)


def public_key_pin(certificate: Path) -> str:
    """The pin of a certificate's public key, as `sha256//` and base64."""
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    key = loaded.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return "sha256//" + base64.b64encode(hashlib.sha256(key).digest()).decode("ascii")


def write_certificates(folder: Path) -> None:
    """Makes the CA and all leaf certificates anew in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    write_leaf(authority.issue_cert(*NAMES), folder, "server")
    write_leaf(authority.issue_cert("example.test"), folder, "wrong-host")
    write_leaf(authority.issue_cert("client@example.test"), folder, "client")
    past = datetime.now(UTC) - timedelta(days=10)
    expired = authority.issue_cert(*NAMES, not_before=past - timedelta(days=10), not_after=past)
    write_leaf(expired, folder, "expired")
    write_self_signed(folder)


if __name__ == "__main__":
    write_certificates(Path(sys.argv[1]))
