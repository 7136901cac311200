/** Connects, then shows the connected page; asks for endpoint and token when it cannot connect. */

import { lazy, Suspense, useEffect, useState } from "react";
import { offersSharedStreams } from "./api/eventStreams";
import { Http, type Endpoint } from "./api/http";
import { ApiProblem } from "./api/problem";
import { RequestLog } from "./api/requestLog";
import { ServerApi } from "./api/server";
import { AppLayout } from "./frame/AppLayout";
import { ConnectScreen } from "./ConnectScreen";
import { AppState, AppStateProvider } from "./state/appState";
import { endpointFromAddress, forgetToken, savedToken, saveToken } from "./state/endpoint";
import { sharedLink } from "./share/sharedLink";
import { openHistory } from "./storage/history";
import { Loading } from "./ui/Empty";
import { useTheme } from "./ui/hooks/useTheme";

const SharedPage = lazy(async () => ({ default: (await import("./share/SharedPage")).SharedPage }));

/** Read first: the endpoint of a share has no token. */
const shared = sharedLink();
const firstEndpoint = endpointFromAddress();

type Phase =
  | { name: "connecting" }
  | { name: "asking"; endpoint: Endpoint; error?: unknown }
  | { name: "connected"; app: AppState };

async function connect(endpoint: Endpoint, remember?: boolean): Promise<AppState> {
  const http = new Http(endpoint, new RequestLog());
  const [sharesStreams] = await Promise.all([offersSharedStreams(http), new ServerApi(http).health()]);
  // A remembered token stays where it is; one from the address or the form is saved.
  const isNew = endpoint.token !== savedToken(endpoint.url);
  if (remember !== undefined || isNew) saveToken(endpoint, remember ?? false);
  return new AppState(endpoint, await openHistory(), sharesStreams);
}

export function App() {
  const [phase, setPhase] = useState<Phase>({ name: "connecting" });
  const theme = useTheme();

  useEffect(() => {
    if (shared) return;
    connect(firstEndpoint).then(
      (app) => setPhase({ name: "connected", app }),
      (error: unknown) => {
        const needsToken = error instanceof ApiProblem && error.status === 401 && !firstEndpoint.token;
        setPhase({ name: "asking", endpoint: firstEndpoint, ...(needsToken ? {} : { error }) });
      },
    );
  }, []);

  const connectTo = async (endpoint: Endpoint, remember: boolean) =>
    setPhase({ name: "connected", app: await connect(endpoint, remember) });

  const disconnect = (app: AppState) => {
    app.close();
    forgetToken(app.endpoint);
    setPhase({ name: "asking", endpoint: { ...app.endpoint, token: "" } });
  };

  if (shared) {
    return (
      <Suspense fallback={<Loading what="the session" />}>
        <SharedPage link={shared} theme={theme} />
      </Suspense>
    );
  }
  if (phase.name === "connecting") {
    return (
      <div className="centred">
        <Loading what="the inspector" />
      </div>
    );
  }
  if (phase.name === "asking") {
    return <ConnectScreen endpoint={phase.endpoint} error={phase.error} connect={connectTo} theme={theme} />;
  }
  return (
    <AppStateProvider value={phase.app}>
      <AppLayout disconnect={() => disconnect(phase.app)} theme={theme} />
    </AppStateProvider>
  );
}
