/** The fixtures of the Python client library: both mappers derive the same events, ids included. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { MessageReader } from "../../src/fold/messageReader";
import { UniversalMapper } from "../../src/fold/universal/mapper";
import type { Json } from "../../src/json";

interface Fixture {
  name: string;
  mapper: { session_id: string; agent?: string; include_raw?: boolean };
  input: { direction: "client" | "agent"; time: string; message: Json }[];
  expected: unknown[];
}

const folder = new URL("../../../tests/fixtures/universal/", import.meta.url);
const fixtures = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf-8")) as Fixture);

test("there are fixtures", () => {
  expect(fixtures.length).toBeGreaterThan(20);
});

test.each(fixtures.map((fixture) => [fixture.name, fixture] as const))(
  "%s gives the expected events",
  (_name, fixture) => {
    const { session_id, agent, include_raw } = fixture.mapper;
    const mapper = new UniversalMapper(session_id, agent ?? null, include_raw ?? false);
    const reader = new MessageReader();
    const events = fixture.input.flatMap(({ message, direction, time }) =>
      mapper.add(reader.read({ sender: direction, payload: message }), time),
    );
    expect(events).toEqual(fixture.expected);
  },
);

test.each(["", "abc", "é".repeat(100), "x".repeat(1000)])(
  "the hash of what cannot be read agrees with the one of Node: %#",
  (text) => {
    const reading = new MessageReader().read({ sender: "agent", payload: text });
    const [event] = new UniversalMapper("s").add(reading, "");
    expect(event?.data.raw_hash).toBe(createHash("sha256").update(text).digest("hex"));
  },
);
