/** A button that copies text and confirms it for 1.5 s. */

import { useState } from "react";
import { Icon } from "./Icon";

const CONFIRM_MS = 1500;

interface Props {
  text: string | (() => string);
  label: string;
  /** Show the label beside the icon. */
  shown?: boolean;
}

export function CopyButton({ text, label, shown = false }: Props) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(typeof text === "string" ? text : text());
    setCopied(true);
    setTimeout(() => setCopied(false), CONFIRM_MS);
  };
  return (
    <button
      type="button"
      className={shown ? "button small" : "icon-button"}
      aria-label={shown ? undefined : label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={copied ? "check" : "copy"} size={14} />
      {shown && <span>{copied ? "Copied" : label}</span>}
    </button>
  );
}

/** The clipboard API needs https or localhost; on other pages a temporary text field is copied. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
