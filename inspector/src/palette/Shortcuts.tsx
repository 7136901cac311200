/** The keys of the page. */

import { Dialog } from "../ui/Dialog";
import "../styles/palette.css";

const SHORTCUTS: [keys: string, effect: string][] = [
  ["Ctrl+K", "go to a session, a panel or an action"],
  ["?", "show these keys"],
  ["Ctrl+F", "search in the conversation"],
  ["Enter", "send the prompt, or queue it while the agent works"],
  ["Shift+Enter", "a new line in the prompt"],
  ["/", "commands of the agent, at the start of a prompt"],
  ["@", "files of the directory"],
  ["Arrow up", "earlier prompts"],
  ["1 to 9, a to z", "the options of a card"],
  ["Esc", "reject a card after 3 s, with Undo"],
  ["Ctrl+S", "save the file that is being edited"],
];

export function Shortcuts({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <table className="shortcuts">
        <tbody>
          {SHORTCUTS.map(([keys, effect]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
