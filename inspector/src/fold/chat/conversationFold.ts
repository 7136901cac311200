/** The messages of a log as a conversation. */

import { AUTH_REQUIRED, SERVER_PROBLEM } from "../../api/errorCodes";
import { isObject, numberAt, objectAt, textAt, type Json, type JsonObject } from "../../json";
import { isAcceptance } from "../acpV2";
import { idKey, LOGOUT_METHODS, type Reading } from "../messageReader";
import { outcomeText, readOutcome } from "../requestResult";
import type { Conversation } from "./conversation";
import { ConversationState } from "./conversationState";
import { promptItem } from "./promptItem";
import { mergeRequest } from "./requestedTool";
import { applySessionUpdate } from "./sessionUpdates";

type Answer = Extract<Reading, { kind: "answer" }>;
type CallReading = Extract<Reading, { kind: "call" }>;

/** Requests of ACP that this page does not serve; those of vendors are nothing to show. */
const CLIENT_SERVICE = /^(fs|terminal|mcp|elicitation)\//;

export class ConversationFold {
  private readonly state = new ConversationState();

  add(message: { n: number; time: number }, reading: Reading): void {
    this.state.moveTo(message);
    if (reading.kind === "gap") this.state.push({ kind: "gap", gap: reading.gap });
    else if (reading.kind === "malformed") this.malformed(reading.payload);
    else if (reading.kind === "call") this.call(reading);
    else if (reading.sender === "client") this.clientAnswer(reading);
    else this.agentAnswer(reading);
  }

  /** End the turns of a process that is over; no message of the agent tells it. */
  endRun(): void {
    const { state } = this;
    state.restoring = false;
    state.closeMessage();
    state.closeRequests();
    for (const turn of state.facts.turns) state.endTurn(turn, "interrupted");
    state.endTools();
  }

  isOpenTurn(requestId: Json): boolean {
    return this.state.facts.turns.some((turn) => turn.requestId === idKey(requestId));
  }

  publish(): { conversation: Conversation; firstChanged: number } {
    return this.state.publish();
  }

  private malformed(payload: Json): void {
    this.state.note("warning", "Unexpected message", JSON.stringify(payload));
  }

  private call(call: CallReading): void {
    if (call.sender === "client") this.clientCall(call);
    else if (call.id !== undefined) this.agentRequest(call, call.id);
    else this.agentNotification(call.method, call.params);
  }

  private clientCall({ id, method, params }: CallReading): void {
    if (method === "session/prompt") this.startTurn(id ?? null, params);
    // A new process: what the one before left open ends here.
    else if (method === "initialize") this.endRun();
    else if (method === "session/load" || method === "session/resume")
      this.state.restoring = this.state.hasMessages();
    else if (method === "session/cancel") this.state.note("info", "Stop requested");
    else if (method === "$/cancel_request") this.state.remark("Cancellation of a request");
  }

  private startTurn(id: Json, params: JsonObject): void {
    const { state } = this;
    const sessionId = textAt(params, "sessionId") ?? "";
    state.closeMessage();
    state.addSession(sessionId);
    const item = promptItem(params);
    if (item) state.push(item);
    const turn = { requestId: idKey(id), sessionId, startedAt: state.now };
    state.change({ turns: [...state.facts.turns, turn], sentPrompts: state.facts.sentPrompts + 1 });
  }

  private clientAnswer({ id, result }: Answer): void {
    this.state.changeRequest(idKey(id), ({ request }) => {
      if (!isObject(result)) return { state: "rejected" };
      const outcome = readOutcome(request, result);
      return { state: outcome.accepted ? "answered" : "rejected", answer: outcomeText(request, outcome) };
    });
  }

  private agentNotification(method: string, params: JsonObject): void {
    const { state } = this;
    if (method === "session/update") applySessionUpdate(state, params);
    else if (method === "_adapter/agent_exited") this.agentExited(params);
    else if (method === "_adapter/invalid_stdout")
      state.note("warning", "Output that is not JSON", textAt(params, "raw"));
    else if (method === "$/cancel_request")
      state.changeRequest(idKey(params.requestId ?? params.id), () => ({ state: "stale" }));
    else if (method === "elicitation/complete") state.note("info", "The page that the agent opened is done");
    else if (method.startsWith("_sandboxagent/"))
      state.note("info", method, textAt(params, "message") ?? textAt(params, "error"));
  }

  private agentRequest({ method, request }: CallReading, id: Json): void {
    if (!request) {
      if (CLIENT_SERVICE.test(method)) this.state.note("info", `The agent asked for ${method}`);
      return;
    }
    this.state.closeMessage();
    this.state.addSession(request.sessionId);
    const known = mergeRequest(this.state, request);
    this.state.addRequest(idKey(id), { kind: "request", request: known, state: "pending" });
  }

  private agentAnswer({ id, call, payload }: Answer): void {
    const { state } = this;
    const turn = state.facts.turns.find((one) => one.requestId === idKey(id));
    const error = objectAt(payload, "error");
    const result = objectAt(payload, "result");
    const stopReason = textAt(result, "stopReason");
    const tokens = numberAt(objectAt(result, "usage"), "totalTokens");
    if (turn && result && isAcceptance(result)) state.acceptTurn(turn);
    else if (turn) state.endTurn(turn, error ? "error" : (stopReason ?? "end_turn"), tokens);
    else if (!call && stopReason) state.endTurn(undefined, stopReason, tokens);
    const opens = call !== undefined && OPENS_SESSION.test(call.method);
    const needsLogin = numberAt(error, "code") === AUTH_REQUIRED;
    // A login that comes before the session is offered by the page, not told as an error of the conversation.
    if (error && !(opens && needsLogin)) state.note("error", errorLabel(error), errorDetail(error));
    if (turn || opens) state.change({ needsLogin });
    else if (call && !error) this.callSucceeded(call.method);
    if (result) state.applyResult(result, call?.params);
    if (call?.method === "session/load" || call?.method === "session/resume") state.restoring = false;
  }

  private callSucceeded(method: string): void {
    if (method === "session/delete") {
      this.state.note("info", "The agent has deleted the session");
    } else if (LOGOUT_METHODS.includes(method)) {
      this.state.note("info", "The agent is logged out");
      this.state.change({ needsLogin: true });
    }
  }

  private agentExited(params: JsonObject): void {
    const { state } = this;
    const code = numberAt(params, "code") ?? null;
    const success = params.success === true;
    state.closeMessage();
    state.closeRequests();
    for (const turn of state.facts.turns) state.endTurn(turn, "agent exited");
    state.endTools();
    state.change({ exited: { code, success } });
    // The notice below the conversation tells the details while the process is not running.
    state.note("info", success ? "The agent ended" : `The agent's process ended (${code ?? "signal"})`);
    if (!success) state.change({ announcement: "The agent's process ended" });
  }
}

function errorDetail(error: JsonObject): string | undefined {
  const data = error.data;
  if (data === undefined || data === null) return undefined;
  return typeof data === "string" ? data : (textAt(data, "details") ?? JSON.stringify(data));
}

const OPENS_SESSION = /^session\/(new|load|resume|fork)$/;

function errorLabel(error: JsonObject): string {
  const code = numberAt(error, "code");
  const label = textAt(error, "message") ?? "The agent reported an error";
  return code === undefined || code === SERVER_PROBLEM ? label : `${label} (${code})`;
}
