/** A button whose first press asks and whose second press, within four seconds, acts. */

import { useEffect, useState } from "react";

const ASKING_MS = 4000;

interface Props {
  label: string;
  /** For screen readers, where several buttons have one label. */
  name?: string;
  question: string;
  disabled: boolean;
  confirmed: () => void;
}

export function ConfirmButton({ label, name, question, disabled, confirmed }: Props) {
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    if (!asking) return undefined;
    const timer = setTimeout(() => setAsking(false), ASKING_MS);
    return () => clearTimeout(timer);
  }, [asking]);
  const press = () => {
    if (asking) confirmed();
    setAsking(!asking);
  };
  return (
    <button
      type="button"
      className={asking ? "button small danger" : "button small"}
      aria-label={asking ? undefined : name}
      disabled={disabled}
      onClick={press}
    >
      {asking ? question : label}
    </button>
  );
}
