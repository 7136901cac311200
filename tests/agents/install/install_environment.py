"""A data directory, a catalogue and a home directory of one test, for real installs without a network."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.installer import Installer
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.launch.acp_probe import open_probe
from sandbox_agent.agents.launch.launcher import Launcher


class InstallEnvironment:
    def __init__(self, directory: Path, agents: str) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.layout = InstallLayout(self.data)
        self.node_builds = Path(self.layout.node_builds)
        self.agents_file = directory / "agents.toml"
        self.agents_file.write_text(agents)
        self.catalog = Catalog.load(self.agents_file)
        # npm and pip cannot download: nothing listens at the registry's address, and the cache is empty.
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory / "home"),
            "npm_config_registry": "http://127.0.0.1:9",
            "npm_config_cache": str(directory / "npm-cache"),
            "npm_config_update_notifier": "false",
            "PIP_NO_INDEX": "1",
        }
        (directory / "home").mkdir(exist_ok=True)

    def installer(self) -> Installer:
        return Installer(self.catalog, self.layout, environ=self.environ)

    def launcher(self) -> Launcher:
        return Launcher(
            self.catalog, self.layout, self.installer, server_executable="x", environ=self.environ
        )

    def launcher_file(self, agent: str = "tiny") -> Path:
        return Path(self.layout.launcher(agent))

    def build_folder(self, build: str, agent: str = "tiny") -> Path:
        return Path(self.layout.builds(agent), build)

    async def starts(self, agent: str = "tiny") -> bool:
        """Install the agent, start it, and return whether it answers `initialize`."""
        spec = await self.launcher().prepare(agent)
        async with open_probe(spec) as probe:
            return (await probe.initialize(30))["protocolVersion"] == 1

    def builds(self, agent: str = "tiny") -> list[str]:
        """The folders of the agent's builds, complete or not."""
        folder = self.layout.builds(agent)
        return sorted(os.listdir(folder)) if os.path.exists(folder) else []

    def is_untouched(self, agent: str = "tiny") -> bool:
        """Nothing of a failed install is left."""
        return not self.builds(agent) and not os.path.exists(self.layout.launcher(agent))

    async def install_in_another_process(self, agent: str = "tiny") -> asyncio.subprocess.Process:
        """Start an install in another process, as a second server would."""
        code = (
            "import asyncio, dataclasses, json, sys\n"
            "from pathlib import Path\n"
            "from sandbox_agent.agents.catalog.catalog import Catalog\n"
            "from sandbox_agent.agents.install.installer import Installer\n"
            "from sandbox_agent.agents.install.layout import InstallLayout\n"
            "installer = Installer(Catalog.load(Path(sys.argv[1])), InstallLayout(Path(sys.argv[2])))\n"
            "tell = lambda progress: print(progress.step, flush=True)\n"
            "result = asyncio.run(installer.install(sys.argv[3], progress=tell))\n"
            "print(json.dumps(dataclasses.asdict(result)))\n"
        )
        arguments = (str(self.agents_file), str(self.data), agent)
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, *arguments, env=self.environ, stdout=asyncio.subprocess.PIPE
        )
