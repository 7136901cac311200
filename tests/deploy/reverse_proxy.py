"""Reverse proxies from Debian, each with its recipe of docs/deploy.md; ports and certificate are replaced."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

from tests.docs.markdown import ROOT, blocks_of
from tests.support.clients.raw_http import DEFAULT_TIMEOUT, Client, Connection, ConnectionClosed
from tests.support.processes import wait_until
from tests.support.server_process import free_port
from tests.support.suite.requirements import SYSTEM_PATH

HOST = "sandbox.example"
# The language of a recipe's code block, and the program that reads it.
PROXIES = {"nginx": "nginx", "haproxy": "haproxy", "caddyfile": "caddy"}


class TlsClient(Client):
    """Requests to `sandbox.example`, at a port of this machine."""

    def __init__(self, port: int, token: str, certificate: Path) -> None:
        super().__init__("127.0.0.1", port, token)
        self._context = ssl.create_default_context(cafile=certificate)

    @property
    def authority(self) -> str:
        return f"{HOST}:{self.port}"

    def connect(self, timeout: float = DEFAULT_TIMEOUT, receive_buffer: int | None = None) -> Connection:
        connection = super().connect(timeout, receive_buffer)
        try:
            connection.socket = self._context.wrap_socket(connection.socket, server_hostname=HOST)
        except BaseException:
            connection.close()
            raise
        return connection


class Certificate:
    """A self-signed certificate for `sandbox.example`."""

    def __init__(self, directory: Path) -> None:
        self.file, self.key = directory / "certificate.pem", directory / "key.pem"
        self.both = directory / "both.pem"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        words += ["-nodes", "-days", "2", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
        words += ["-keyout", str(self.key), "-out", str(self.file)]
        subprocess.run(words, check=True, capture_output=True, timeout=30)
        self.both.write_bytes(self.file.read_bytes() + self.key.read_bytes())


def recipe(language: str) -> str:
    """The text of a recipe in docs/deploy.md."""
    found = [block for block in blocks_of(ROOT / "docs" / "deploy.md") if block.language == language]
    assert len(found) == 1, f"docs/deploy.md has {len(found)} blocks of {language}"
    return found[0].text


class ReverseProxy:
    """A running proxy in front of the server at `server_port`."""

    def __init__(self, language: str, directory: Path, server_port: int, token: str) -> None:
        self.name = PROXIES[language]
        self.port = free_port()
        self.plain_port: int | None = None
        """A port without TLS, for the proxy whose delays differ there."""
        self._directory = directory
        certificate = Certificate(directory)
        text = _replaced(recipe(language), {"127.0.0.1:2468": f"127.0.0.1:{server_port}"})
        words = getattr(self, f"_{self.name}")(text, certificate)
        program = shutil.which(words[0], path=SYSTEM_PATH)
        assert program is not None
        environment = {"PATH": SYSTEM_PATH, "HOME": str(directory)}
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program, *words[1:]], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.client = TlsClient(self.port, token, certificate.file)
        try:
            wait_until(self._answers, 20, f"an answer through {self.name}")
        except BaseException:
            self.stop()
            raise

    def _answers(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        try:
            return self.client.get("/v1/health", timeout=2).status == 200
        except (OSError, ConnectionClosed):
            return False

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # ---- how each proxy gets its recipe ------------------------------------------------------------------

    def _nginx(self, text: str, certificate: Certificate) -> list[str]:
        replaced = {
            "listen 443": f"listen 127.0.0.1:{self.port}",
            "/etc/ssl/certs/sandbox.example.pem": str(certificate.file),
            "/etc/ssl/private/sandbox.example.key": str(certificate.key),
        }
        head = f"daemon off;\npid {self._directory}/pid;\nerror_log stderr;\nevents {{}}\n"
        folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{name}_temp_path {self._directory}/{name};\n" for name in folders)
        body = _replaced(text, replaced)
        file = self._write("nginx.conf", f"{head}http {{\naccess_log off;\n{paths}{body}}}\n")
        return ["nginx", "-c", str(file), "-p", str(self._directory), "-e", "stderr"]

    def _haproxy(self, text: str, certificate: Certificate) -> list[str]:
        self.plain_port = free_port()
        replaced = {
            "bind :443": f"bind 127.0.0.1:{self.plain_port}\n    bind 127.0.0.1:{self.port}",
            "/etc/haproxy/sandbox.example.pem": str(certificate.both),
        }
        return ["haproxy", "-db", "-f", str(self._write("haproxy.cfg", _replaced(text, replaced)))]

    def _caddy(self, text: str, certificate: Certificate) -> list[str]:
        # Caddy would get a certificate for the name; here it is given one.
        named = f"{HOST}:{self.port} {{\n    bind 127.0.0.1\n    tls {certificate.file} {certificate.key}\n"
        options = "{\n    admin off\n    auto_https off\n}\n"
        file = self._write("Caddyfile", options + _replaced(text, {f"{HOST} {{\n": named}))
        return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]

    def _write(self, name: str, text: str) -> Path:
        file = self._directory / name
        file.write_text(text)
        return file


def _replaced(text: str, replacements: dict[str, str]) -> str:
    for old, new in replacements.items():
        assert text.count(old) == 1, f"{old!r} is not in the recipe once"
        text = text.replace(old, new)
    return text
