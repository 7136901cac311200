/** CPU, memory and disk of the sandbox, and what the server, instances and processes use of them. */

import { useCallback, useRef } from "react";
import type { SystemInfo } from "../api/bodies";
import { ApiProblem } from "../api/problem";
import { useAppState } from "../state/appState";
import { agentLabel } from "../ui/agentLabel";
import { ErrorBox } from "../ui/ErrorBox";
import { bytes } from "../ui/format";
import { usePolled } from "../ui/hooks/usePolled";
import { usageOf, type TreeUsage } from "./usage";

const INTERVAL_MS = 3000;

export function SystemUsage() {
  const { http } = useAppState();
  const before = useRef<SystemInfo | undefined>(undefined);
  const { value: usage, error } = usePolled(
    useCallback(async () => {
      const now = await http.json<SystemInfo>("/v1/system", { quiet: true });
      const found = usageOf(now, before.current);
      before.current = now;
      return found;
    }, [http]),
    INTERVAL_MS,
  );
  if (error instanceof ApiProblem && error.status === 404) {
    return <p className="system-usage muted">The server does not measure the sandbox (--system off).</p>;
  }
  if (error !== undefined) return <ErrorBox error={error} />;
  if (!usage) return null;
  const { cpu, cpuLimit, memoryUsed, memoryTotal, diskUsed, diskTotal } = usage;
  return (
    <details className="system-usage">
      <summary>
        <Meter
          label="CPU"
          value={cpu ?? 0}
          limit={cpuLimit}
          text={cpu === undefined ? "measuring" : `${cpu.toFixed(1)} of ${cpuLimit}`}
        />
        <Meter label="Memory" value={memoryUsed} limit={memoryTotal} text={part(memoryUsed, memoryTotal)} />
        <Meter label="Disk" value={diskUsed} limit={diskTotal} text={part(diskUsed, diskTotal)} />
      </summary>
      <table className="tree-usage">
        <thead>
          <tr>
            <th scope="col">Process tree</th>
            <th scope="col">Processes</th>
            <th scope="col">CPU</th>
            <th scope="col">Memory</th>
          </tr>
        </thead>
        <tbody>
          {usage.trees.map((tree) => (
            <TreeRow key={`${tree.id} ${tree.pid}`} tree={tree} />
          ))}
        </tbody>
      </table>
    </details>
  );
}

function TreeRow({ tree }: { tree: TreeUsage }) {
  return (
    <tr data-tree={tree.id}>
      <th scope="row" title={tree.id}>
        {agentLabel(tree.name)}
      </th>
      <td>{tree.processes}</td>
      <td>{tree.cpu === undefined ? "" : `${Math.round(tree.cpu * 100)} %`}</td>
      <td>{bytes(tree.memory)}</td>
    </tr>
  );
}

interface MeterProps {
  label: string;
  value: number;
  limit: number;
  text: string;
}

function Meter({ label, value, limit, text }: MeterProps) {
  return (
    <span className="meter">
      <span>{label}</span>
      <meter aria-label={label} min={0} max={limit} value={Math.min(value, limit)} high={limit * 0.9} />
      <span className="muted">{text}</span>
    </span>
  );
}

function part(used: number, total: number): string {
  return `${bytes(used)} of ${bytes(total)}`;
}
