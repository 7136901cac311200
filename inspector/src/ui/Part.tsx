/**
 * A part of the page that is loaded when it is needed. If it cannot be shown, for example because the server is
 * away, only this part says so and the rest of the page stays.
 */

import { Component, Suspense, type ReactNode } from "react";
import { Icon } from "./Icon";

interface Props {
  /** Shown until the part is there. */
  fallback?: ReactNode;
  children: ReactNode;
}

export class Part extends Component<Props, { failed: boolean }> {
  state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  render(): ReactNode {
    if (!this.state.failed) return <Suspense fallback={this.props.fallback}>{this.props.children}</Suspense>;
    return (
      <div className="error-box" role="alert">
        <Icon name="warning" />
        <div className="grow">
          <strong>This part of the page could not be shown</strong>
          <p>The server is away or has a newer page, or the part has an error.</p>
        </div>
        <button type="button" className="button small" onClick={() => window.location.reload()}>
          Load the page again
        </button>
      </div>
    );
  }
}
