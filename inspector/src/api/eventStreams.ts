/**
 * The event streams of one endpoint. A browser opens six connections to a host for all its tabs, so a page that
 * follows many instances reads them from one connection, `GET /v1/events`; a server without it gets one for each.
 */

import type { Http } from "./http";
import { InstanceReader, type StreamListener } from "./instanceReader";
import { SHARED_PATH, StreamGroup } from "./streamGroup";

/** The list of instances is part of the address. */
const GROUP_SIZE = 64;

export class EventStreams {
  private groups: StreamGroup[] = [];

  /** @param shared whether instances share a connection; the ticket of a share admits only its own stream */
  constructor(
    private readonly http: Http,
    readonly shared: boolean,
  ) {}

  /** Read the events after these numbers, until the reader is closed. */
  read(serverId: string, lastEventId: number, lastPosted: number, listener: StreamListener): InstanceReader {
    const reader = new InstanceReader(serverId, lastEventId, lastPosted, listener);
    this.groups = this.groups.filter((group) => group.readers.size > 0);
    // An address names each instance once.
    const roomy = (group: StreamGroup) => group.readers.size < GROUP_SIZE && !group.reads(reader.serverId);
    let group = this.shared ? this.groups.find(roomy) : undefined;
    if (!group) {
      group = new StreamGroup(this.http, !this.shared);
      this.groups.push(group);
    }
    group.add(reader);
    return reader;
  }
}

/** Whether the server has `GET /v1/events`: `--events off` and older servers answer 404. */
export async function offersSharedStreams(http: Http): Promise<boolean> {
  // An instance that does not exist: the stream ends at once.
  const response = await http.send(SHARED_PATH, { query: { servers: "-" }, quiet: true });
  await response.body?.cancel();
  return response.ok;
}
