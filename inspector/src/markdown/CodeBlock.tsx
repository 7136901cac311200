/** Code with its language, colours that are loaded when needed, and a button that copies all of it. */

import { CopyButton } from "../ui/CopyButton";
import { Highlighted } from "./Highlighted";

interface Props {
  language: string;
  text: string;
  /** A later piece of a long block: it has no bar of its own. */
  continued: boolean;
  /** The whole text of the block, for the copy button. */
  whole: () => string;
}

export function CodeBlock({ language, text, continued, whole }: Props) {
  return (
    <div className={continued ? "md-code md-code-continued" : "md-code"}>
      {!continued && (
        <div className="md-code-bar">
          <span>{language || "text"}</span>
          <CopyButton text={whole} label="Copy code" />
        </div>
      )}
      <pre tabIndex={0}>
        <code>
          <Highlighted text={text} language={language} />
        </code>
      </pre>
    </div>
  );
}
