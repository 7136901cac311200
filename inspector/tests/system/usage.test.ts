/** The use of the machine. */

import { expect, test } from "vitest";
import type { SystemInfo } from "../../src/api/bodies";
import { usageOf } from "../../src/system/usage";

test("CPU is the rate between two answers, and unknown for a tree that was started again", () => {
  const info = (timeMs: number, seconds: number, pid: number): SystemInfo => ({
    timeMs,
    cpu: { limit: 2, busySeconds: seconds, loadAverage: [0, 0, 0] },
    memory: { totalBytes: 100, availableBytes: 40 },
    disk: { totalBytes: 10, availableBytes: 10 },
    server: { pid: 1, memoryBytes: 5, cpuSeconds: seconds / 4 },
    instances: [{ serverId: "s", agent: "mock", pid, processes: 1, memoryBytes: 7, cpuSeconds: seconds / 2 }],
    processes: [
      { processId: "proc_1", command: "make", pid: 3, processes: 2, memoryBytes: 9, cpuSeconds: seconds },
    ],
  });
  const usage = usageOf(info(3000, 12, 9), info(1000, 10, 9));
  expect([usage.cpu, usage.memoryUsed, usage.diskUsed]).toEqual([1, 60, 0]);
  expect(usage.trees.map((tree) => tree.cpu)).toEqual([0.25, 0.5, 1]);
  expect(usage.trees[2]).toMatchObject({ id: "proc_1", name: "make", processes: 2, memory: 9 });
  expect(usageOf(info(3000, 12, 8), info(1000, 10, 9)).trees[1]?.cpu).toBeUndefined();
  expect(usageOf(info(1000, 10, 9), undefined).cpu).toBeUndefined();
});
