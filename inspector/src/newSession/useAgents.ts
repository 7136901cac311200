/** The agents of the server, read again after each install. */

import { useCallback } from "react";
import type { AgentInfo } from "../api/bodies";
import type { ServerApi } from "../api/server";
import { useObservable } from "../state/observable";
import { agentsChanged } from "../state/selection";
import { rememberNames } from "../ui/agentLabel";
import { useLoaded, type Loaded } from "../ui/hooks/useLoaded";

export function useAgents(api: ServerApi, config = false): Loaded<AgentInfo[]> {
  const round = useObservable(agentsChanged);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the number of installs is what asks again
  return useLoaded(useCallback(() => namedAgents(api, config), [api, config, round]));
}

async function namedAgents(api: ServerApi, config: boolean): Promise<AgentInfo[]> {
  const agents = await api.agents(config);
  rememberNames(agents);
  return agents;
}
