"""The relays of a server, by id. A relay ends with its instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import Conflict, NotFound
from sandbox_agent.http.tool_relays.tool_relay import ToolRelay

if TYPE_CHECKING:
    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.bridge.registry import InstanceRegistry
    from sandbox_agent.http.access.tickets import Tickets

MAX_RELAYS = 4096


class ToolRelays:
    def __init__(self, instances: InstanceRegistry, tickets: Tickets) -> None:
        self._instances = instances
        self._tickets = tickets
        self._relays: dict[str, ToolRelay] = {}
        instances.close_listeners.append(self._instance_closed)

    def open(self, relay_id: str, server_id: str, call_path: bytes) -> ToolRelay:
        """The relay of this id, made if there is none; its ticket is valid for requests to `call_path`.

        A relay of this id that belongs to another instance is closed. Raises SessionNotFound if there is no
        such instance, Conflict if there are too many relays.
        """
        self._instances.get(server_id)
        known = self._relays.get(relay_id)
        if known is not None:
            if known.server_id == server_id:
                return known
            self.close(relay_id)
        if len(self._relays) >= MAX_RELAYS:
            raise Conflict(f"the server already has {MAX_RELAYS} tool relays")
        relay = self._relays[relay_id] = ToolRelay(relay_id, server_id, self._tickets.allow(call_path))
        return relay

    def get(self, relay_id: str) -> ToolRelay:
        """Raises NotFound, also for the relay of an instance that has ended."""
        known = self._relays.get(relay_id)
        if known is None:
            raise NotFound(f"there is no tool relay '{relay_id}'")
        return known

    def close(self, relay_id: str) -> None:
        relay = self._relays.pop(relay_id)
        self._tickets.forget(relay.ticket)
        relay.close()

    def _instance_closed(self, instance: Instance) -> None:
        """Another instance with the same id does not get its tickets."""
        for relay in [relay for relay in self._relays.values() if relay.server_id == instance.server_id]:
            self.close(relay.relay_id)
