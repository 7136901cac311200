/** The agent's plan and its progress. */

import type { PlanItem } from "../../fold/chat/conversation";
import { Icon } from "../../ui/Icon";

const MARKS: Record<string, string> = { completed: "✓", in_progress: "▸", pending: "○" };

export function Plan({ item }: { item: PlanItem }) {
  const done = item.entries.filter((entry) => entry.status === "completed").length;
  return (
    <div className="plan">
      <div className="plan-head">
        <Icon name="list" size={14} /> Plan{" "}
        <span className="muted">
          {done} of {item.entries.length}
        </span>
      </div>
      <ul>
        {item.entries.map((entry, index) => (
          <li key={index} className={entry.status}>
            <span aria-hidden="true">{MARKS[entry.status] ?? "○"}</span>
            <span className="visually-hidden">{entry.status.replace("_", " ")}: </span>
            <span className="plan-text">{entry.content}</span>
            {entry.priority === "high" && <span className="pill warn">high</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
