/** A row of the side bar that leads to a page. */

import type { ReactNode } from "react";
import { useObservable } from "../state/observable";
import { currentRoute, go, routePath, type Route } from "../state/route";

export function SideLink({
  route,
  chosen,
  children,
}: {
  route: Route;
  chosen: () => void;
  children: ReactNode;
}) {
  const active = routePath(useObservable(currentRoute)) === routePath(route);
  return (
    <li>
      <a
        href={routePath(route)}
        className="side-row"
        aria-current={active ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          go(route);
          chosen();
        }}
      >
        {children}
      </a>
    </li>
  );
}
