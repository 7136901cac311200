/** An error, and advice where there is some. */

import { explain } from "../api/problem";
import { Icon } from "./Icon";

export function ErrorBox({ error, retry }: { error: unknown; retry?: () => void }) {
  const { title, detail, advice, stderr } = explain(error);
  return (
    <div className="error-box" role="alert">
      <Icon name="warning" />
      <div className="grow">
        <strong>{title}</strong>
        <p>{detail}</p>
        {advice && <p className="muted">{advice}</p>}
        {stderr && (
          <pre className="stderr" tabIndex={0}>
            {stderr}
          </pre>
        )}
      </div>
      {retry && (
        <button type="button" className="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}
