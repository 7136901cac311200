/** An exported session: its title, and the conversation with a slider. */

import { Empty } from "../ui/Empty";
import { Logo } from "../ui/Logo";
import { ThemeButton } from "../ui/ThemeButton";
import { useTheme } from "../ui/hooks/useTheme";
import type { Recording } from "./recording";
import { Replay } from "./Replay";
import type { SessionFacts } from "./sessionFile";

const DATE = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "short" });

export function ReplayApp({ facts, recording }: { facts: SessionFacts; recording: Recording }) {
  const theme = useTheme();
  return (
    <div className="replay-page">
      <header className="replay-head">
        <Logo />
        <h1 className="ellipsis">{facts.title}</h1>
        <span className="pill">{facts.agent}</span>
        <span className="grow" />
        <span className="muted small-text replay-date">saved {DATE.format(facts.savedAt)}</span>
        <ThemeButton theme={theme} />
      </header>
      <main>
        {recording.length > 0 ? (
          <Replay recording={recording} alone />
        ) : (
          <Empty title="Nothing was recorded">The session was saved before its first message.</Empty>
        )}
      </main>
    </div>
  );
}
