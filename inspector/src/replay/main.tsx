import { createRoot } from "react-dom/client";
import { ReplayApp } from "./ReplayApp";
import { Recording } from "./recording";
import { readSessionFile } from "./sessionFile";
import "../styles/tokens.css";
import "../styles/base.css";
import "../styles/controls.css";
import "../styles/conversation.css";
import "../styles/cards.css";
import "../styles/workbench.css";
import "./replay.css";

const { facts, messages } = readSessionFile(document);
document.title = facts.title;
const recording = new Recording(messages, facts.isOver);
createRoot(document.getElementById("root")!).render(<ReplayApp facts={facts} recording={recording} />);
