/** Instances of the server that other clients started, watched from this tab. */

import { logKey } from "../fold/message";
import { Instance } from "../instance/instance";
import type { AppState } from "../state/appState";

export async function watchInstance(app: AppState, serverId: string): Promise<Instance> {
  const server = (await app.servers.refresh()).find((one) => one.serverId === serverId);
  const log = server && logKey(app.http.origin, serverId, server.createdAtMs);
  const instance = new Instance(app, serverId, log, false);
  if (log) instance.log.restoreSent(await app.history.messages(log));
  instance.stream.listen();
  return instance;
}
