/** Connects, then shows the workbench; asks for endpoint and token when it cannot. */

import { useCallback, useEffect, useState } from "react";
import { Http, type Endpoint } from "./api/http";
import { ApiProblem } from "./api/problem";
import { RequestLog } from "./api/requestLog";
import { ServerApi } from "./api/server";
import { ConnectScreen } from "./ConnectScreen";
import { endpointFromAddress, forgetToken, saveToken } from "./session/connection";
import { Workbench, WorkbenchProvider } from "./session/workbench";
import { Shell } from "./Shell";
import { openHistory } from "./storage/history";
import { Loading } from "./ui/Empty";
import { useTheme } from "./ui/useTheme";

const firstEndpoint = endpointFromAddress();

type Phase =
  { name: "connecting" } | { name: "asking"; error?: unknown } | { name: "connected"; workbench: Workbench };

export function App() {
  const [endpoint, setEndpoint] = useState<Endpoint>(firstEndpoint);
  const [phase, setPhase] = useState<Phase>({ name: "connecting" });
  const theme = useTheme();

  const connect = useCallback(async (target: Endpoint, remember?: boolean) => {
    setEndpoint(target);
    await new ServerApi(new Http(target, new RequestLog())).health();
    if (remember !== undefined || target.token) saveToken(target, remember ?? false);
    setPhase({ name: "connected", workbench: new Workbench(target, await openHistory()) });
  }, []);

  useEffect(() => {
    connect(firstEndpoint).catch((error: unknown) => {
      const needsToken = error instanceof ApiProblem && error.status === 401 && !firstEndpoint.token;
      setPhase(needsToken ? { name: "asking" } : { name: "asking", error });
    });
  }, [connect]);

  const disconnect = (workbench: Workbench) => {
    workbench.close();
    forgetToken(workbench.endpoint);
    setEndpoint({ ...workbench.endpoint, token: "" });
    setPhase({ name: "asking" });
  };

  if (phase.name === "connecting")
    return (
      <div className="centred">
        <Loading what="the inspector" />
      </div>
    );
  if (phase.name === "asking") {
    return <ConnectScreen endpoint={endpoint} error={phase.error} connect={connect} theme={theme} />;
  }
  return (
    <WorkbenchProvider value={phase.workbench}>
      <Shell disconnect={() => disconnect(phase.workbench)} theme={theme} />
    </WorkbenchProvider>
  );
}
