"""An npm registry on loopback that serves tarballs from disk to the real npm."""

from __future__ import annotations

import base64
import hashlib
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote


class NpmRegistry:
    """Use as a context manager; `publish` adds tarballs, `address` is the registry URL for npm."""

    def __init__(self) -> None:
        self._tarballs: dict[str, Path] = {}
        self._packages: dict[str, dict[str, dict[str, Any]]] = {}
        self.asked: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(unquote(self.path))
                registry._answer(self, unquote(self.path).lstrip("/"))

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> NpmRegistry:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Refuse connections from now on. May be called twice."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def publish(self, tarball: Path) -> None:
        with tarfile.open(tarball) as tar:
            member = tar.extractfile("package/package.json")
            assert member is not None
            manifest = json.load(member)
        name, version = manifest["name"], manifest["version"]
        data = tarball.read_bytes()
        path = f"{name}/-/{version}.tgz"
        self._tarballs[path] = tarball
        dist = {
            "tarball": f"{self.address}/{path}",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
        }
        self._packages.setdefault(name, {})[version] = {**manifest, "dist": dist}

    def _answer(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        if path in self._tarballs:
            body = self._tarballs[path].read_bytes()
        elif versions := self._packages.get(path):
            tags = {"latest": list(versions)[-1]}
            body = json.dumps({"name": path, "dist-tags": tags, "versions": versions}).encode()
        else:
            handler.send_error(404)
            return
        handler.send_response(200)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
