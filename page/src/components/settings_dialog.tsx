// All keys, and what a person can choose.
import { useLayoutEffect, useState } from "preact/hooks";
import { ACTIONS, chooseKey, chosenKeys, keysOf, nameKey, readKey, resetKeys, type Action } from "../keys.ts";
import { situation } from "../session.ts";
import { changeSettings, settings, type Theme } from "../settings.ts";
import { useStore } from "../store.ts";
import { Key } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";

const THEMES: [Theme, string][] = [
  ["system", "as the system"],
  ["light", "light"],
  ["dark", "dark"],
];
const MODIFIERS = ["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "Dead", "Process", "Unidentified"];

function KeyTable() {
  useStore(chosenKeys);
  const [waiting, setWaiting] = useState<Action | null>(null);
  // Before the next key press, however fast it comes.
  useLayoutEffect(() => {
    if (!waiting) return;
    const take = (event: KeyboardEvent) => {
      if (MODIFIERS.includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      // Tab and Enter stay what they are everywhere; Escape leaves the key as it was.
      if (!["Escape", "Tab", "Enter"].includes(event.key)) chooseKey(waiting, readKey(event));
      setWaiting(null);
    };
    addEventListener("keydown", take, true);
    return () => removeEventListener("keydown", take, true);
  }, [waiting]);
  return (
    <>
      <table class="keys">
        <tbody>
          {(Object.keys(ACTIONS) as Action[]).map((action) => (
            <tr key={action}>
              <th scope="row">{ACTIONS[action].label}</th>
              <td>
                {keysOf(action).map((key) => (
                  <Key key={key}>{nameKey(key)}</Key>
                ))}
              </td>
              <td>
                <button class="small" aria-label={`Change the key: ${ACTIONS[action].label}`} onClick={() => setWaiting(action)}>
                  {waiting === action ? "Press a key …" : "Change"}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <button class="small" onClick={resetKeys}>
        Keys as they were
      </button>
    </>
  );
}

export function SettingsDialog({ onClose }: { onClose: () => void }) {
  const { theme, showScores, author } = useStore(settings);
  const { session } = useStore(situation);
  return (
    <Dialog title="Keys and settings" onClose={onClose}>
      <div class="form">
        <label>
          Your name{" "}
          {session?.author_fixed ? (
            <output>{session.author}</output>
          ) : (
            <input
              type="text"
              autocomplete="name"
              value={author || session?.author}
              onInput={(event) => changeSettings({ author: event.currentTarget.value.trim() })}
            />
          )}
        </label>
        <label>
          Colours{" "}
          <select value={theme} onChange={(event) => changeSettings({ theme: event.currentTarget.value as Theme })}>
            {THEMES.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={showScores} onChange={(event) => changeSettings({ showScores: event.currentTarget.checked })} />{" "}
          Show scores
        </label>
      </div>
      <h3>Keys</h3>
      <KeyTable />
    </Dialog>
  );
}
