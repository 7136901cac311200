/** Output of a command: colours and carriage returns obeyed, its end in view, all of it on demand. */

import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { GrowingOutput, terminalPlain, type Run } from "../../fold/terminalScreen";
import { CopyButton } from "../../ui/CopyButton";

/** Older lines of a long output are shown on demand. */
const SHOWN_LINES = 400;
/** That many are seen at once. */
const FEW_LINES = 12;

export function TerminalOutput({ text: sent, exitCode }: { text: string; exitCode?: number }) {
  const [all, setAll] = useState(false);
  const [large, setLarge] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  // Some agents wrap the output in a fence.
  const text = sent.replace(/^```\w*\n|\n```$/g, "");
  // The line break at the end begins no line.
  const shown = text.replace(/\r?\n$/, "");
  const [output] = useState(() => new GrowingOutput());
  const height = useMemo(() => output.read(shown), [output, shown]);
  const hidden = all ? 0 : Math.max(0, height - SHOWN_LINES);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the text is what `output` has read
  const lines = useMemo(() => output.lines(hidden), [output, hidden, shown]);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <div className={large ? "terminal large" : "terminal"}>
      <div className="terminal-bar">
        {exitCode !== undefined && (
          <span className={exitCode === 0 ? "muted" : "bad-text"}>exit code {exitCode}</span>
        )}
        <span className="grow" />
        {hidden > 0 && (
          <button type="button" className="link-button" onClick={() => setAll(true)}>
            {hidden} earlier lines
          </button>
        )}
        {height > FEW_LINES && (
          <button type="button" className="link-button" aria-pressed={large} onClick={() => setLarge(!large)}>
            {large ? "Smaller" : "Enlarge"}
          </button>
        )}
        <CopyButton text={() => terminalPlain(text)} label="Copy output" />
      </div>
      <pre ref={box} tabIndex={0} aria-label="Terminal output">
        {lines.map((line, index) => (
          <Line key={index} runs={line} />
        ))}
      </pre>
    </div>
  );
}

function Line({ runs }: { runs: readonly Run[] }) {
  return (
    <>
      {runs.map((run, index) =>
        run.classes.length === 0 && !run.foreground && !run.background ? (
          run.text
        ) : (
          <span
            key={index}
            className={run.classes.map((name) => `ansi-${name}`).join(" ")}
            style={{ color: run.foreground, backgroundColor: run.background }}
          >
            {run.text}
          </span>
        ),
      )}
      {"\n"}
    </>
  );
}
