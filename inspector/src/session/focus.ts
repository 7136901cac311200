/** What the dock looks at: the instance of the page that is open, and an event to jump to. */

import type { Instance } from "../live/instance";
import { Observable } from "./observable";

export const focusInstance = new Observable<Instance | undefined>(undefined);

/** Position of a message that the Events panel should show. */
export const focusEvent = new Observable<number | undefined>(undefined);

/** The directory of the open session, as a start for the Files, MCP and Skills panels. */
export const focusDirectory = new Observable<string>("");
