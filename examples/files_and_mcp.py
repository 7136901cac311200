"""Copy files into the sandbox and back, and register an MCP server for the directory of a session."""

import tempfile
from pathlib import Path

from sandbox_agent import SandboxAgent

TOOL = """
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"tools": []}}), flush=True)
"""

with tempfile.TemporaryDirectory() as directory, SandboxAgent.start() as client:
    project = f"{directory}/project"

    # A directory is uploaded as one stream.
    local = Path(directory, "local")
    local.mkdir()
    (local / "README.md").write_text("# A project\n")
    client.fs.upload_dir(local, project)
    client.fs.write_text(f"{project}/tools/clock.py", TOOL)
    print("uploaded:", sorted(entry.name for entry in client.fs.list(project)))

    # The MCP server is registered for the directory; sessions with use_directory_config get it.
    client.config.mcp.set(
        project, "clock", {"type": "local", "command": "python3", "args": [f"{project}/tools/clock.py"]}
    )
    session = client.sessions.create("mock", directory=project, use_directory_config=True)
    answer = session.prompt("info").text
    print("the agent was given:", "clock" if "clock" in answer else "nothing")

    # An attachment is a link to a file in the sandbox, which the agent reads itself.
    print(session.prompt("echo thanks", attachments=[f"{project}/README.md"]).text)

    client.fs.download_dir(project, Path(directory, "back"))
    print("back again:", (Path(directory, "back") / "README.md").read_text().strip())
