/** Tells that agents wait for the user: count in the title, a dot on the icon, and a notification. */

import { useEffect, useRef } from "react";
import type { WaitingRequest } from "../session/openSessions";
import { go } from "../state/route";

const TITLE = "Sandbox Agent";
const ICON = "/ui/favicon.svg";
const ICON_WITH_DOT = "/ui/favicon-waiting.svg";

export function useAttention(waiting: readonly WaitingRequest[], pageTitle: string): void {
  const known = useRef(new Set<string>());
  const count = waiting.length;
  useEffect(() => {
    const name = pageTitle ? `${pageTitle} · ${TITLE}` : TITLE;
    document.title = count > 0 ? `(${count}) ${name}` : name;
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (icon) icon.href = count > 0 ? ICON_WITH_DOT : ICON;
  }, [count, pageTitle]);

  useEffect(() => {
    const keys = waiting.map((one) => `${one.open.id}:${one.item.key}`);
    waiting.forEach((one, index) => {
      if (!known.current.has(keys[index]!)) notify(one, keys[index]!);
    });
    known.current = new Set(keys);
  }, [waiting]);
}

/** A visible page shows its own badges. The tag lets several tabs show one notification together. */
function notify({ open, item }: WaitingRequest, tag: string): void {
  if (typeof Notification === "undefined" || Notification.permission !== "granted" || document.hasFocus())
    return;
  const notification = new Notification(open.session.title || "An agent waits for you", {
    body: item.request.title,
    tag,
    icon: ICON_WITH_DOT,
  });
  notification.onclick = () => {
    window.focus();
    go({ page: "session", id: open.id });
    notification.close();
  };
}
