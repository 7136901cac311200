/** Asks the browser for leave to show notifications. */

import { useState } from "react";

export function NotifySwitch() {
  const supported = typeof Notification !== "undefined";
  const [permission, setPermission] = useState(supported ? Notification.permission : "denied");
  if (!supported || permission === "granted") return null;
  if (permission === "denied")
    return <span className="muted small-text">The browser refuses notifications.</span>;
  const ask = async () => setPermission(await Notification.requestPermission());
  return (
    <button type="button" className="button small" onClick={() => void ask()}>
      Notify me
    </button>
  );
}
