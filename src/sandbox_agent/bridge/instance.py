"""One instance: the agent process of a server_id, its event log, and the calls that wait for answers.

`call` and `forward` queue posted bytes for stdin. The output of the agent goes to `OutputPublisher`, which
publishes it and reports messages with an id; answers go to the waiters of their calls. Everything runs on the
event loop with callbacks, without tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.time_marks import TimeMarks
from sandbox_agent.bridge.jsonrpc.message_id import id_key
from sandbox_agent.bridge.output_publisher import OutputPublisher
from sandbox_agent.bridge.pending_calls import PendingCall
from sandbox_agent.bridge.silence_timeout import SilenceTimeout
from sandbox_agent.errors import AgentProcessExited, SandboxAgentError, StreamError, Timeout
from sandbox_agent.runtime import running_loop
from sandbox_agent.runtime.wall_clock import now_ns

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from sandbox_agent.bridge.client_log import ClientLog
    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.instance_limits import InstanceLimits
    from sandbox_agent.bridge.pending_calls import Answer, Waiter
    from sandbox_agent.bridge.process.agent_process import AgentProcess
    from sandbox_agent.bridge.process.exit_watch import ProcessExit
    from sandbox_agent.bridge.v2_turns import V2Turns

_EXIT_GRACE_S = 0.5
_NEVER = float("inf")
# A client repeats only the messages whose POST broke, which are its latest.
_REMEMBERED_KEYS = 256


class Instance:
    __slots__ = (
        "_calls",
        "_exit_stderr",
        "_keys",
        "_limits",
        "_loop",
        "_silence",
        "_timer",
        "_timer_at",
        "_turns",
        "_unsent",
        "_unwritten",
        "_version_unknown",
        "agent",
        "client_log",
        "closed",
        "created_at_ms",
        "exit",
        "last_activity_ns",
        "log",
        "on_exited",
        "output",
        "pid",
        "process",
        "server_id",
        "status",
        "times",
    )

    def __init__(
        self,
        server_id: str,
        agent: str,
        log: EventLog,
        limits: InstanceLimits,
        client_log: ClientLog | None = None,
    ) -> None:
        self.server_id = server_id
        self.agent = agent
        self.log = log
        self.client_log = client_log
        self.times = TimeMarks(log.last + 1)
        self.status: Literal["starting", "running", "exited"] = "starting"
        self.closed = False
        self.last_activity_ns = now_ns()
        self.created_at_ms = self.last_activity_ms
        self.pid: int | None = None
        self.exit: ProcessExit | None = None
        self.process: AgentProcess | None = None
        self.on_exited: Callable[[Instance, AgentProcess], None] | None = None
        self._limits = limits
        self._loop = running_loop.running_loop()
        self._silence = SilenceTimeout(self._loop.time(), limits.first_line_s, limits.silence_s)
        self._calls: dict[bytes, PendingCall] = {}
        self._unwritten: dict[PendingCall, None] = {}
        """Notifications and answers that are not written to stdin yet; they have no id."""
        self._unsent: list[PendingCall] = []
        self._timer: running_loop.Timer | None = None
        self._timer_at = _NEVER
        self.output = OutputPublisher(self, log, limits.max_line_bytes, limits.adapter_messages)
        self._exit_stderr = ""
        self._keys: dict[bytes, None] | None = None
        """Idempotency keys of the latest messages, oldest first; None before the first."""
        self._version_unknown = True
        """The first answer of the process, to `initialize`, names the protocol version."""
        self._turns: V2Turns | None = None
        """The turns of an agent that speaks ACP v2, which answers a prompt before its turn."""
        log.on_congestion = self._on_congestion

    @property
    def pending_requests(self) -> int:
        """Requests without an answer, and turns of ACP v2 that have not ended."""
        return len(self._calls) + (len(self._turns.busy) if self._turns is not None else 0)

    @property
    def last_activity_ms(self) -> int:
        return self.last_activity_ns // 1_000_000

    # ---- from the client ---------------------------------------------------------------------------------

    def has_accepted(self, key: bytes) -> bool:
        """Whether a message with this idempotency key was accepted, so that another one is a repetition."""
        return self._keys is not None and key in self._keys

    def remember_key(self, key: bytes) -> None:
        """A message with this idempotency key has been accepted."""
        keys = self._keys = self._keys or {}
        keys[key] = None
        if len(keys) > _REMEMBERED_KEYS:
            del keys[next(iter(keys))]

    def call(self, raw_id: bytes, body: bytes, waiter: Waiter | None, limit_s: float | None) -> None:
        """Send a request; `waiter` gets the bytes of the answer or an error. Raises SandboxAgentError."""
        key = raw_id if raw_id.isdigit() else id_key(raw_id)
        in_flight = self._calls.get(key)
        if in_flight is not None:
            self.last_activity_ns = now_ns()
            in_flight.join(body, waiter)
        else:
            call = PendingCall(key, body, waiter, limit_s)
            self._send(call)
            self._calls[key] = call
            if self._turns is not None:
                self._turns.asked(key, body)
            if self.client_log is not None:
                self.client_log.add(self.log.last, self.last_activity_ns, body)

    def forward(self, raw_id: bytes, body: bytes, waiter: Waiter, limit_s: float | None) -> None:
        """Send a notification or an answer; `waiter` gets empty bytes when it is written to stdin."""
        key = id_key(raw_id) if raw_id else b""

        def written() -> None:
            self._unwritten.pop(call, None)
            if key:
                self._silence.answered(key, self._loop.time())
            call.settle(b"")

        call = PendingCall(b"", body, waiter, limit_s)
        call.on_written = written
        self._unwritten[call] = None
        try:
            self._send(call)
        except SandboxAgentError:
            del self._unwritten[call]
            raise
        if self.client_log is not None:
            self.client_log.add(self.log.last, self.last_activity_ns, body)

    def _send(self, call: PendingCall) -> None:
        self.last_activity_ns = now_ns()
        process = self.process
        if process is None:
            if self.status == "exited" or self.closed:
                raise self.exit_error()
            self._unsent.append(call)
            return
        stdin, silence, limit_s = process.input, self._silence, call.limit_s
        if stdin.queued_bytes + call.size > self._limits.stdin_queue_bytes:
            raise StreamError("the agent does not read its input")
        now = self._loop.time()
        if limit_s is None:
            call.sent_at, limit_s = silence.active(now), silence.limit_s
        else:
            call.sent_at = now
        # The earliest time at which its limit can be exceeded.
        if now + limit_s < self._timer_at:
            self._set_timer(now + limit_s)
        if not stdin.put(call):
            self.on_input_closed()

    # ---- life cycle --------------------------------------------------------------------------------------

    def begin_start(self) -> None:
        """A process is being prepared; messages wait until it runs."""
        self.status = "starting"
        self.pid = None

    def attach(self, process: AgentProcess) -> None:
        """The process runs: send the waiting messages and start the time-outs."""
        if self.exit is not None:  # a fresh process under the same id is a new creation
            self.last_activity_ns = now_ns()
            self.created_at_ms = self.last_activity_ms
        self.process = process
        self.pid = process.pid
        self.exit = None
        self.status = "running"
        self._version_unknown = True
        now = self._loop.time()
        self._silence = SilenceTimeout(now, self._limits.first_line_s, self._limits.silence_s)
        unsent, self._unsent = self._unsent, []
        for call in unsent:
            call.sent_at = 0.0 if call.limit_s is None else now
            process.input.put(call)
        if unsent:
            self._check_silence()

    def start_failed(self, error: SandboxAgentError) -> None:
        """The process could not be started: every waiting call gets the error."""
        self._unsent.clear()
        self._settle_all(error)
        if self.exit is not None:
            self.status = "exited"

    def close(self) -> AgentProcess | None:
        """Close the instance for its clients; returns the process that has to be stopped."""
        self.closed = True
        process, self.process = self.process, None
        if process is not None:
            process.discard_output()
        self._settle_all(self.exit_error() if self.exit else AgentProcessExited(self.agent, closed=True))
        self.close_logs()
        return process

    def close_logs(self) -> None:
        self.log.close()
        if self.client_log is not None:
            self.client_log.close()

    def exit_error(self) -> AgentProcessExited:
        """The error for calls to an agent that has exited."""
        code, signal = (self.exit.code, self.exit.signal) if self.exit else (None, None)
        return AgentProcessExited(self.agent, exit_code=code, signal=signal, stderr=self._exit_stderr)

    def on_exit(self, exit: ProcessExit) -> None:
        process = self.process
        if process is None:
            return  # The instance was closed.
        self.exit = exit
        self.status = "exited"
        self.process = None
        self._exit_stderr = process.stderr_tail
        self.output.publish_adapter("agent_exited", {"code": exit.code, "success": exit.code == 0})
        self._settle_all(self.exit_error())
        if self.on_exited:
            self.on_exited(self, process)

    def on_input_closed(self) -> None:
        """The agent closed its stdin. Usually its exit follows and says more; if not, the calls fail."""
        self._loop.call_later(_EXIT_GRACE_S, self._fail_unwritten)

    def _fail_unwritten(self) -> None:
        if self.process is None or not self.process.input.closed:
            return
        for call in self._all_calls:
            if not call.written:
                self._unwritten.pop(call, None)
                if call.key:
                    self._calls.pop(call.key)
                call.settle(StreamError("the agent closed its input"))

    @property
    def _all_calls(self) -> list[PendingCall]:
        return [*self._calls.values(), *self._unwritten]

    def _settle_all(self, answer: Answer) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer, self._timer_at = None, _NEVER
        calls = self._all_calls
        self._calls, self._unwritten = {}, {}
        self._turns = self.output.observer = None
        for call in calls:
            call.settle(answer)

    # ---- from the agent ----------------------------------------------------------------------------------

    def on_output(self) -> None:
        """The agent has written something, and it is published."""
        self._silence.line(self._loop.time())
        self.last_activity_ns = now_ns()
        self.times.published(self.log.last, self.last_activity_ns)

    def on_message_with_id(self, raw_id: bytes, has_method: bool, line: bytes) -> None:
        """The agent has answered a call, or sent a request to the client."""
        key = raw_id if raw_id.isdigit() else id_key(raw_id)
        if has_method:
            self._silence.asked(key, self._loop.time())
        elif call := self._calls.pop(key, None):
            if self._version_unknown:
                self._read_version(line)
            elif self._turns is not None:
                self._turns.answered(key, line)
            for waiter in call.waiters:
                waiter(line)

    def _read_version(self, line: bytes) -> None:
        self._version_unknown = False
        if b'"protocolVersion":2' in line or b'"protocolVersion": 2' in line:
            from sandbox_agent.bridge.v2_turns import V2Turns  # only with ACP v2

            self._turns = V2Turns()
            self.output.observer = self._turns.written

    def on_dropped_answer(self, raw_id: bytes) -> None:
        """The answer to a call is too long, or there is no memory for it: the call fails."""
        if call := self._calls.pop(id_key(raw_id), None):
            call.settle(StreamError("the answer of the agent is too long or does not fit in memory"))

    def pause_output(self) -> None:
        if self.process is not None:
            self.process.pause_reading()

    def resume_output(self) -> None:
        """Continue reading, unless a line is being scanned or the disk is congested."""
        if self.process is not None and not self.output.is_held and not self.log.congested:
            self.process.resume_reading()

    def _on_congestion(self, congested: bool) -> None:
        if congested:
            self.pause_output()
        else:
            self.resume_output()

    # ---- time-outs ---------------------------------------------------------------------------------------

    def _set_timer(self, when: float) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._check_silence)
        self._timer_at = when

    def _check_silence(self) -> None:
        self._timer, self._timer_at = None, _NEVER
        now = self._loop.time()
        next_check = None
        for call in self._all_calls:
            if call.limit_s is None:
                left = self._silence.limit_s - self._silence.silence(call.sent_at, now)
            else:
                left = call.limit_s - self._silence.silence_by_clock(call.sent_at, now)
            if left <= 0:
                self._give_up(call)
            elif next_check is None or left < next_check:
                next_check = left
        if next_check is not None:
            # At least 10 ms, because silence does not grow while active time is stopped.
            self._set_timer(now + max(next_check, 0.01))

    def _give_up(self, call: PendingCall) -> None:
        if self.process:
            self.process.input.withdraw(call)
        if call in self._unwritten:
            del self._unwritten[call]
            call.settle(Timeout("timed out writing to the agent: it does not read its input"))
        else:
            self._calls.pop(call.key)
            call.settle(Timeout())
