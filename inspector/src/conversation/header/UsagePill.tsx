/** Context in use, tokens of all turns and cost. */

import type { Usage } from "../../fold/chat/conversation";
import { money } from "../../ui/format";

/** Agents without prices tell a cost of 0; less than this is drawn as 0. */
const LEAST_COST = 0.00005;

export function UsagePill({ usage }: { usage: Usage }) {
  const parts: string[] = [];
  const whole: string[] = [];
  if (usage.totalTokens !== undefined) {
    const tokens = `${usage.totalTokens.toLocaleString()} tokens`;
    parts.push(tokens);
    whole.push(`${tokens} in all turns`);
  }
  if (usage.cost && usage.cost.amount >= LEAST_COST) {
    parts.push(money(usage.cost));
    whole.push(`cost ${money(usage.cost)}`);
  }
  if (usage.used !== undefined) {
    const used = `context ${usage.used.toLocaleString()}`;
    parts.push(usage.size ? `context ${Math.round((100 * usage.used) / usage.size)} %` : used);
    whole.push(usage.size ? `${used} of ${usage.size.toLocaleString()}` : used);
  }
  return parts.length > 0 ? (
    <span className="pill usage-pill" title={whole.join(", ")}>
      {parts.join(" · ")}
    </span>
  ) : null;
}
