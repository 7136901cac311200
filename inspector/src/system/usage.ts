/** How busy the sandbox is, from two answers of `GET /v1/system`: CPU times are counters. */

import type { SystemInfo } from "../api/bodies";

export interface Usage {
  /** Busy processors; undefined until there are two answers. */
  cpu: number | undefined;
  cpuLimit: number;
  memoryUsed: number;
  memoryTotal: number;
  diskUsed: number;
  diskTotal: number;
  trees: TreeUsage[];
}

export interface TreeUsage {
  id: string;
  name: string;
  pid: number;
  processes: number;
  memory: number;
  cpu: number | undefined;
}

export function usageOf(now: SystemInfo, before: SystemInfo | undefined): Usage {
  const seconds = before ? (now.timeMs - before.timeMs) / 1000 : 0;
  const rate = (later: number, earlier: number | undefined) =>
    seconds > 0 && earlier !== undefined ? Math.max(0, (later - earlier) / seconds) : undefined;
  const { server } = now;
  const trees: TreeUsage[] = [
    {
      id: "server",
      name: "sandbox-agent server",
      pid: server.pid,
      processes: 1,
      memory: server.memoryBytes,
      cpu: rate(server.cpuSeconds, before?.server.cpuSeconds),
    },
  ];
  for (const tree of now.instances) {
    // A tree that was started again under the same id counts from zero.
    const earlier = before?.instances.find((one) => one.serverId === tree.serverId && one.pid === tree.pid);
    trees.push({
      id: tree.serverId,
      name: tree.agent,
      pid: tree.pid,
      processes: tree.processes,
      memory: tree.memoryBytes,
      cpu: rate(tree.cpuSeconds, earlier?.cpuSeconds),
    });
  }
  for (const tree of now.processes) {
    const earlier = before?.processes.find((one) => one.processId === tree.processId);
    trees.push({
      id: tree.processId,
      name: tree.command,
      pid: tree.pid,
      processes: tree.processes,
      memory: tree.memoryBytes,
      cpu: rate(tree.cpuSeconds, earlier?.cpuSeconds),
    });
  }
  return {
    cpu: rate(now.cpu.busySeconds, before?.cpu.busySeconds),
    cpuLimit: now.cpu.limit,
    memoryUsed: now.memory.totalBytes - now.memory.availableBytes,
    memoryTotal: now.memory.totalBytes,
    diskUsed: now.disk.totalBytes - now.disk.availableBytes,
    diskTotal: now.disk.totalBytes,
    trees,
  };
}
