/** Names for the bodies of the server's endpoints. The shapes are generated from its OpenAPI document. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type AcpServer = Schemas["AcpServer"];
export type AcpServers = Schemas["AcpServers"];
export type AgentInfo = Schemas["AgentInfo"];
export type AgentList = Schemas["AgentList"];
export type InstallResult = Schemas["InstallResult"];
export type FsEntry = Schemas["FsEntry"];
export type FsStat = Schemas["FsStat"];
export type GitDiff = Schemas["GitDiff"];
export type GitFileDiff = Schemas["GitFileDiff"];
export type ProcessInfo = Schemas["ProcessInfo"];
export type ProcessLogEntry = Schemas["ProcessLogEntry"];
export type ProcessLogs = Schemas["ProcessLogsResponse"];
export type SystemInfo = Schemas["SystemInfo"];

/** An entry of a directory's config, by kind. */
export interface ConfigEntry {
  mcp: Schemas["McpLocal"] | Schemas["McpRemote"];
  skills: Schemas["SkillsConfig"];
}

export type ConfigKind = keyof ConfigEntry;
