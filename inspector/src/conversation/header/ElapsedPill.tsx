/** For how long the agent has been working. */

import type { Turn } from "../../fold/chat/conversation";
import { duration } from "../../ui/format";
import { useNow } from "../../ui/hooks/useNow";

export function ElapsedPill({ turns }: { turns: readonly Turn[] }) {
  const startedAt = turns[0]?.startedAt;
  const now = useNow(startedAt !== undefined);
  if (!startedAt) return null;
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  return (
    <span className="pill">
      {duration(seconds * 1000)
        .replace(/^0 ms$/, "0 s")
        .replace(".0 s", " s")}
    </span>
  );
}
