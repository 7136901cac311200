/** Context in use, tokens of all turns and cost. */

import type { Usage } from "../../fold/chat/conversation";
import { money } from "../../ui/format";

export function UsagePill({ usage }: { usage: Usage }) {
  const parts: string[] = [];
  if (usage.used !== undefined) {
    const size = usage.size ? ` of ${usage.size.toLocaleString()}` : "";
    parts.push(`context ${usage.used.toLocaleString()}${size}`);
  }
  if (usage.totalTokens !== undefined)
    parts.push(`${usage.totalTokens.toLocaleString()} tokens in all turns`);
  // Agents without prices, such as the mock, tell a cost of 0.
  if (usage.cost?.amount) parts.push(money(usage.cost));
  return parts.length > 0 ? (
    <span className="pill usage-pill" title="Context in use, tokens of all turns, and cost">
      {parts.join(" · ")}
    </span>
  ) : null;
}
