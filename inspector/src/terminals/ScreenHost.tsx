/** The place of a screen in the page; the screen follows its size. */

import { useEffect, useRef } from "react";
import type { Screen } from "./screen";

export function ScreenHost({ screen, focus }: { screen: Screen; focus: boolean }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const place = host.current;
    if (!place) return undefined;
    screen.show(place);
    if (focus) screen.focus();
    const resized = new ResizeObserver(() => screen.fit());
    resized.observe(place);
    return () => {
      resized.disconnect();
      screen.element.remove();
    };
  }, [screen, focus]);
  return <div className="screen-host" ref={host} />;
}
