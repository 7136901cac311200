/** The connected endpoint, for components that are also drawn in pages without a server. */

import { createContext, useContext } from "react";
import type { AppState } from "./appState";

export const AppContext = createContext<AppState | null>(null);

/** Null in a page without a server: recorded rollouts, an exported session, the view of a share. */
export function useConnectedApp(): AppState | null {
  return useContext(AppContext);
}
