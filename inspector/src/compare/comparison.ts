/**
 * One comparison: makes a worktree per candidate, starts a session in it, sends the prompt, and measures the
 * result when its turn has ended. Each candidate fails by itself.
 */

import { Commands } from "./commands";
import { storeComparison, type Candidate, type ComparisonRecord, type TestResult } from "./record";
import { Repository, type Changes } from "./repository";
import { chooseLogin, type LoginChoice } from "../newSession/LoginChoiceField";
import { createSession } from "../session/lifecycle";
import type { OpenSession } from "../session/openSession";
import type { StartProgress } from "../session/startProgress";
import type { AppState } from "../state/appState";
import { Observable } from "../state/observable";

export interface CandidateState extends Candidate {
  /** What the candidate is doing before its session is open. */
  progress?: StartProgress;
  /** The agent wants a login, and the user has to choose one. */
  login?: LoginChoice;
  open?: OpenSession;
  changes?: Changes;
  measuring?: boolean;
  /** Why the changes could not be read. */
  problem?: unknown;
}

export interface ComparisonState {
  record: ComparisonRecord;
  candidates: readonly CandidateState[];
}

export interface Wanted {
  directory: string;
  prompt: string;
  testCommand: string;
  candidates: WantedCandidate[];
}

interface WantedCandidate {
  agent: string;
  model: string;
  /** Keys for its process only. They are not in the record of the comparison. */
  environment: Record<string, string>;
}

const TEST_LIMIT_MS = 10 * 60_000;
const SHOWN_OUTPUT_CHARS = 20_000;
const TITLE_CHARS = 48;

export class Comparison {
  readonly state: Observable<ComparisonState>;
  private repository: Promise<Repository> | undefined;
  private visible = false;
  /** Turns that were measured, by index of the candidate. */
  private readonly measuredTurns = new Map<number, number>();

  constructor(
    private readonly app: AppState,
    record: ComparisonRecord,
  ) {
    this.state = new Observable<ComparisonState>({ record, candidates: record.candidates });
  }

  /** Make the worktrees and start all candidates; resolves when the worktrees are there. */
  static async start(app: AppState, wanted: Wanted): Promise<Comparison> {
    const repository = await Repository.of(new Commands(app.http), wanted.directory);
    const base = await repository.base();
    const id = crypto.randomUUID().slice(0, 8);
    const candidates = await addWorktrees(repository, id, base, wanted.candidates);
    const comparison = new Comparison(app, {
      id,
      origin: app.http.origin,
      directory: wanted.directory,
      top: repository.top,
      base,
      prompt: wanted.prompt,
      testCommand: wanted.testCommand,
      createdAt: Date.now(),
      candidates,
    });
    comparison.store();
    for (const [index, { environment }] of wanted.candidates.entries())
      void comparison.begin(index, environment);
    return comparison;
  }

  /** Open the sessions of a comparison that was started before. */
  async restore(): Promise<void> {
    for (const [index, { sessionId }] of this.state.get().candidates.entries()) {
      const session = sessionId ? this.app.sessions.find(sessionId) : undefined;
      if (session) this.attach(index, await this.app.open.get(session));
    }
  }

  /** Read the streams of all candidates. */
  show(): void {
    this.visible = true;
    for (const { open } of this.state.get().candidates) open?.show();
  }

  /** The candidates work on, and are read from time to time like other sessions in the background. */
  hide(): void {
    this.visible = false;
    for (const { open } of this.state.get().candidates) open?.hide();
  }

  async measure(index: number): Promise<void> {
    const { record, candidates } = this.state.get();
    const { path, removed } = candidates[index]!;
    if (removed) return;
    this.change(index, { measuring: true, problem: undefined });
    try {
      const repository = await this.opened();
      this.change(index, { changes: await repository.changes(path, record.base) });
      if (record.testCommand) this.change(index, { test: await this.test(repository, path, record) });
    } catch (problem) {
      this.change(index, { problem });
    }
    this.change(index, { measuring: false });
    this.store();
  }

  /** Apply the changes of a candidate to the original tree; rejects if they do not fit. */
  async keep(index: number): Promise<void> {
    const { record, candidates } = this.state.get();
    await (await this.opened()).keep(candidates[index]!.path, record.base);
    this.state.set({ ...this.state.get(), record: { ...record, kept: index } });
    this.store();
  }

  /** End the processes of all candidates and remove their worktrees. */
  async removeWorktrees(): Promise<void> {
    const repository = await this.opened();
    const there = new Set((await repository.worktrees()).map((one) => one.path));
    for (const [index, { open, path }] of this.state.get().candidates.entries()) {
      if (open && open.state.get().run !== "gone") await open.end().catch(() => undefined);
      if (there.has(path)) await repository.remove(path);
      this.change(index, { removed: true });
    }
    this.store();
  }

  private opened(): Promise<Repository> {
    this.repository ??= Repository.of(new Commands(this.app.http), this.state.get().record.top);
    this.repository.catch(() => (this.repository = undefined));
    return this.repository;
  }

  private async test(repository: Repository, path: string, record: ComparisonRecord): Promise<TestResult> {
    const { exitCode, stdout, stderr, durationMs } = await repository.test(
      path,
      record.testCommand,
      TEST_LIMIT_MS,
    );
    const output = `${stdout}${stderr}`.slice(-SHOWN_OUTPUT_CHARS);
    return { output, durationMs, ...(typeof exitCode === "number" ? { exitCode } : {}) };
  }

  private async begin(index: number, environment: Record<string, string>): Promise<void> {
    const { record, candidates } = this.state.get();
    const { agent, model, path } = candidates[index]!;
    try {
      const options: Record<string, string> = model ? { model } : {};
      const wanted = { agent, cwd: path, options, mcpServers: [], environment };
      const session = await createSession(
        this.app,
        wanted,
        (progress) => this.change(index, { progress }),
        new AbortController().signal,
        chooseLogin((login) => this.change(index, { login })),
      );
      this.change(index, { sessionId: session.id, progress: undefined });
      await this.app.sessions.change(session.id, {
        title: record.prompt.split("\n")[0]!.slice(0, TITLE_CHARS),
      });
      this.store();
      const open = await this.app.open.get(session);
      this.attach(index, open);
      open.queue.add({ text: record.prompt, attachments: [] });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.change(index, { error: text, progress: undefined, login: undefined });
      this.store();
    }
  }

  private attach(index: number, open: OpenSession): void {
    this.change(index, { open });
    if (this.visible) open.show();
    const look = () => {
      const { endedTurns, turns } = open.instance.snapshot().conversation;
      if (turns.length > 0 || endedTurns === (this.measuredTurns.get(index) ?? 0)) return;
      this.measuredTurns.set(index, endedTurns);
      void this.measure(index);
    };
    open.instance.subscribe(look);
    look();
  }

  private change(index: number, fields: Partial<CandidateState>): void {
    const { record, candidates } = this.state.get();
    const changed = candidates.map((one, at) => (at === index ? { ...one, ...fields } : one));
    this.state.set({ record, candidates: changed });
  }

  private store(): void {
    const { record, candidates } = this.state.get();
    const kept = candidates.map(({ agent, model, path, sessionId, error, test, removed }): Candidate => ({
      agent,
      model,
      path,
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(error === undefined ? {} : { error }),
      ...(test === undefined ? {} : { test }),
      ...(removed === undefined ? {} : { removed }),
    }));
    storeComparison({ ...record, candidates: kept });
  }
}

/** A worktree for each candidate, or for none. */
async function addWorktrees(
  repository: Repository,
  id: string,
  base: string,
  wanted: readonly WantedCandidate[],
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  try {
    for (const [index, { agent, model }] of wanted.entries()) {
      const name = `${id}-${index + 1}-${agent.replace(/[^A-Za-z0-9._-]/g, "_")}`;
      const { path } = await repository.add(name, base);
      candidates.push({ agent, model, path });
    }
  } catch (error) {
    for (const { path } of candidates) await repository.remove(path).catch(() => undefined);
    throw error;
  }
  return candidates;
}
