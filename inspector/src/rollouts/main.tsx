import { createRoot } from "react-dom/client";
import { Http } from "../api/http";
import { RequestLog } from "../api/requestLog";
import { endpointFromAddress, savedToken, saveToken } from "../state/endpoint";
import { RolloutsApp } from "./RolloutsApp";
import { RolloutsApi } from "./rolloutsApi";
import "../styles/tokens.css";
import "../styles/base.css";
import "../styles/controls.css";
import "../styles/conversation.css";
import "../styles/cards.css";
import "../styles/workbench.css";
import "./rollouts.css";

const endpoint = endpointFromAddress();
if (endpoint.token !== savedToken(endpoint.url)) saveToken(endpoint, false);

const api = new RolloutsApi(new Http(endpoint, new RequestLog()));
createRoot(document.getElementById("root")!).render(<RolloutsApp api={api} />);
