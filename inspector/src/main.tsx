import { createRoot } from "react-dom/client";
import { App } from "./App";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/sidebar.css";
import "./styles/newSession.css";
import "./styles/dialog.css";
import "./styles/layout.css";
import "./styles/conversation.css";
import "./styles/cards.css";
import "./styles/panels.css";
import "./styles/events.css";
import "./styles/files.css";

// A link with a token, opened in a tab that has the page already, changes only the fragment.
window.addEventListener("hashchange", () => {
  if (/[#&](token|headers)=/.test(window.location.hash)) window.location.reload();
});

createRoot(document.getElementById("root")!, {
  // A `Part` shows that it failed.
  onCaughtError: (error) => console.warn(error),
}).render(<App />);
