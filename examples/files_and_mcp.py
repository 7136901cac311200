"""Files into the sandbox and out of it, and an MCP tool that the agent finds in its directory."""

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

    # A whole directory goes up as one stream, a single file as it is.
    local = Path(directory, "local")
    local.mkdir()
    (local / "README.md").write_text("# A project\n")
    client.fs.upload_dir(local, project)
    client.fs.write_text(f"{project}/tools/clock.py", TOOL)
    print("uploaded:", sorted(entry.name for entry in client.fs.list(project)))

    # The MCP server is written down for the directory; sessions that ask for it get it.
    client.config.mcp.set(
        project, "clock", {"type": "local", "command": "python3", "args": [f"{project}/tools/clock.py"]}
    )
    session = client.sessions.create("mock", directory=project, use_directory_config=True)
    told = session.prompt("info").text
    print("the agent was given:", "clock" if "clock" in told else "nothing")

    # An attachment is a link to a file of the sandbox, which the agent reads by itself.
    print(session.prompt("echo thanks", attachments=[f"{project}/README.md"]).text)

    client.fs.download_dir(project, Path(directory, "back"))
    print("back again:", (Path(directory, "back") / "README.md").read_text().strip())
