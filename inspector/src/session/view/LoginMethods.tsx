/** The ways to log in that an agent offers, as buttons. */

import type { AuthMethod } from "@agentclientprotocol/sdk";

interface Props {
  methods: readonly AuthMethod[];
  disabled?: boolean;
  choose: (method: AuthMethod) => void;
}

export function LoginMethods({ methods, disabled = false, choose }: Props) {
  return (
    <ul>
      {methods.map((method) => (
        <li key={method.id}>
          <button type="button" className="button small" disabled={disabled} onClick={() => choose(method)}>
            {method.name}
          </button>{" "}
          {method.description && <span className="muted">{method.description}</span>}
        </li>
      ))}
    </ul>
  );
}
