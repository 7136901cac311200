/** A screen of xterm.js: terminals write to it and read from it, logs only write. Loaded when first needed. */

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { onThemeChange, screenTheme } from "./screenTheme";
import { openWithPolicy } from "./styleElements";

const SCROLLBACK_LINES = 10_000;

export interface ScreenOptions {
  /** Without input, and with line ends as pipes have them. */
  readOnly: boolean;
  label: string;
}

export class Screen {
  /** Moved into the page and out of it; the content stays. */
  readonly element = document.createElement("div");
  private readonly terminal: Terminal;
  private readonly fitting = new FitAddon();
  private readonly searching = new SearchAddon();
  private readonly unsubscribe: () => void;
  private opened = false;
  private replaying = 0;

  constructor(private readonly options: ScreenOptions) {
    this.element.className = "screen";
    this.terminal = new Terminal({
      allowProposedApi: false,
      convertEol: options.readOnly,
      disableStdin: options.readOnly,
      cursorBlink: false,
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
      fontSize: 13,
      minimumContrastRatio: 4.5,
      scrollback: SCROLLBACK_LINES,
      theme: screenTheme(),
    });
    this.terminal.loadAddon(this.fitting);
    this.terminal.loadAddon(this.searching);
    this.terminal.attachCustomKeyEventHandler((event) => !this.isCopy(event));
    this.unsubscribe = onThemeChange(() => (this.terminal.options.theme = screenTheme()));
  }

  get size(): { cols: number; rows: number } {
    return { cols: this.terminal.cols, rows: this.terminal.rows };
  }

  /** Show the screen in a part of the page, and fill it. */
  show(host: HTMLElement): void {
    host.append(this.element);
    if (!this.opened) {
      this.opened = true;
      openWithPolicy(this.terminal, this.element);
      this.terminal.textarea?.setAttribute("aria-label", this.options.label);
    }
    this.fit();
  }

  fit(): void {
    if (this.element.clientWidth > 0 && this.element.clientHeight > 0) this.fitting.fit();
  }

  focus(): void {
    this.terminal.focus();
  }

  write(data: Uint8Array | string): void {
    this.terminal.write(data);
  }

  /** Write output from before: programs that asked the terminal something then get no answer now. */
  replay(data: Uint8Array): void {
    this.replaying += 1;
    this.terminal.write(data, () => (this.replaying -= 1));
  }

  onInput(listener: (data: string) => void): void {
    this.terminal.onData((data) => {
      if (this.replaying === 0) listener(data);
    });
  }

  onResize(listener: (size: { cols: number; rows: number }) => void): void {
    this.terminal.onResize(listener);
  }

  /** The selected text, or everything that is on the screen and above it. */
  text(): string {
    if (this.terminal.hasSelection()) return this.terminal.getSelection();
    const { active } = this.terminal.buffer;
    const lines = Array.from({ length: active.length }, (_, at) => active.getLine(at)!);
    return lines
      .map((line, at) => (line.isWrapped || at === 0 ? "" : "\n") + line.translateToString(true))
      .join("")
      .trimEnd();
  }

  /** Select the next place that has this text. */
  find(text: string, direction: "next" | "previous"): boolean {
    return direction === "next" ? this.searching.findNext(text) : this.searching.findPrevious(text);
  }

  close(): void {
    this.unsubscribe();
    this.terminal.dispose();
    this.element.remove();
  }

  private isCopy(event: KeyboardEvent): boolean {
    const wanted = event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "c";
    if (!wanted || event.type !== "keydown" || !this.terminal.hasSelection()) return false;
    event.preventDefault();
    void navigator.clipboard?.writeText(this.terminal.getSelection());
    return true;
  }
}
