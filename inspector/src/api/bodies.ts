/** Names for the bodies of the server's endpoints. The shapes are generated from its OpenAPI document. */

import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import type { paths } from "./schema";

type Json200<Operation> = Operation extends {
  responses: { 200: { content: { "application/json": infer Body } } };
}
  ? Body
  : never;

export type ServerInfo = Json200<paths["/v1/acp"]["get"]>["servers"][number];

/** Options of an agent are ACP's own objects, which the OpenAPI document leaves open. */
export type AgentInfo = Omit<Json200<paths["/v1/agents/{agent}"]["get"]>, "configOptions"> & {
  configOptions?: SessionConfigOption[];
};

export type InstallResult = Json200<paths["/v1/agents/{agent}/install"]["post"]>;
export type FsEntry = Json200<paths["/v1/fs/entries"]["get"]>[number];
export type FsStat = Json200<paths["/v1/fs/stat"]["get"]>;

type Entries<Body extends { entries: object }> = Body["entries"][keyof Body["entries"]];

/** The entries of a directory's config, by kind. */
export interface ConfigEntry {
  mcp: Entries<Json200<paths["/v1/config/mcp/entries"]["get"]>>;
  skills: Entries<Json200<paths["/v1/config/skills/entries"]["get"]>>;
}

export type ConfigKind = keyof ConfigEntry;
