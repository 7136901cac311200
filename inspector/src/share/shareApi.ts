/** The shares of an instance, and the address that opens the page with one. */

import type { components } from "../api/schema";
import type { Http } from "../api/http";
import { acpPath } from "../api/server";

export type ShareInfo = components["schemas"]["ShareInfo"];
export type CreatedShare = components["schemas"]["CreatedShare"];

export class ShareApi {
  constructor(private readonly http: Http) {}

  create(serverId: string, expiresInMs: number): Promise<CreatedShare> {
    // Not logged: the Requests panel shows answers, and this one has the ticket.
    return this.http.json(`${acpPath(serverId)}/shares`, {
      method: "POST",
      json: { expiresInMs },
      quiet: true,
    });
  }

  async list(serverId: string): Promise<ShareInfo[]> {
    const found = await this.http.json<{ shares: ShareInfo[] }>(`${acpPath(serverId)}/shares`, {
      quiet: true,
    });
    return found.shares;
  }

  async revoke(serverId: string, shareId: string): Promise<void> {
    const path = `${acpPath(serverId)}/shares/${encodeURIComponent(shareId)}`;
    await this.http.checked(path, { method: "DELETE" });
  }
}

/** The ticket is in the fragment, which browsers do not send. */
export function shareAddress(serverId: string, ticket: string, endpoint: string): string {
  const query = endpoint ? `?url=${encodeURIComponent(endpoint)}` : "";
  const page = `${window.location.origin}/ui/shared/${encodeURIComponent(serverId)}`;
  return `${page}${query}#ticket=${ticket}`;
}
