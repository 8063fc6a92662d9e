"""HTTPS: spoken where it is trusted, refused where it is not."""

import datetime
import ipaddress
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire import (
    HttpTransport,
    Outcome,
    Outgoing,
    Reply,
    Session,
    request_bytes,
)
from pytest_mcp_approval.wire.session import Terms
from tests.wire.hostile import AT_ONCE, HANG_SECONDS, Behaviour, HostileServer, http, says

OK = b'{"jsonrpc":"2.0","id":7,"result":{"ok":true}}'


def ask(transport: HttpTransport, seconds: float) -> Reply:
    return transport.exchange(Outgoing(request_bytes(7, "ping"), 7, "ping"), Deadline(seconds))


def test_a_plain_server_behind_https_is_told_as_such() -> None:
    with (
        HostileServer(says()) as server,
        HttpTransport(server.url.replace("http:", "https:")) as transport,
    ):
        reply = ask(transport, 0.4)
    assert reply.outcome is Outcome.UNREACHABLE
    assert "TLS" in reply.describe()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A certificate for localhost that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    today = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    file.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(file)


class HostileTlsServer(HostileServer):
    def __init__(self, behave: Behaviour, certificate: str) -> None:
        super().__init__(behave)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._listener = context.wrap_socket(
            self._listener, server_side=True, do_handshake_on_connect=False
        )
        self.url = self.url.replace("http:", "https:")


def test_https_is_spoken(certificate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    with (
        HostileTlsServer(says(http(OK)), certificate) as server,
        HttpTransport(server.url) as transport,
    ):
        for _ in range(3):
            assert ask(transport, HANG_SECONDS).result == {"ok": True}
        assert server.connections == 1
        together = [Outgoing(request_bytes(7, "tools/list"), 7)] * 3
        replies = transport.exchange_together(together, Deadline(HANG_SECONDS))
        assert [reply.result for reply in replies] == [{"ok": True}] * 3


def test_an_open_call_over_tls_is_hung_up(
    certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread waits in a read, which must wake up."""
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    question = b'data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create"}\n\n'
    with (
        HostileTlsServer(says(head, question), certificate) as server,
        HttpTransport(server.url) as transport,
    ):
        session = Session(transport, Terms("2025-11-25"), client_info={}, client_capabilities={})
        call = session.open_call("tools/call", {"name": "x"})
        assert call.next_request(HANG_SECONDS) is not None
        assert call.hang_up()
        assert call.reply is not None
        assert call.reply.detail == "this client hung up"
        assert call.reply.seconds < AT_ONCE


def test_a_certificate_of_strangers_is_not_trusted(certificate: str) -> None:
    with (
        HostileTlsServer(says(http(OK)), certificate) as server,
        HttpTransport(server.url) as transport,
    ):
        reply = ask(transport, HANG_SECONDS)
    assert reply.outcome is Outcome.UNREACHABLE
    assert "certificate not trusted" in reply.describe()
    assert server.requests == []
