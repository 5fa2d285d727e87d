// Keys and what they do; people may choose others.
import { readStored, removeStored, writeStored } from "./storage.ts";
import { Store } from "./store.ts";

export const ACTIONS = {
  choose1: { keys: ["1"], label: "The first candidate is the same" },
  choose2: { keys: ["2"], label: "The second candidate" },
  choose3: { keys: ["3"], label: "The third candidate" },
  choose4: { keys: ["4"], label: "The fourth candidate" },
  choose5: { keys: ["5"], label: "The fifth candidate" },
  none: { keys: ["0"], label: "None of these" },
  accept: { keys: ["a"], label: "Accept the first" },
  reject: { keys: ["x"], label: "Reject the first" },
  later: { keys: [" "], label: "Later" },
  unsure: { keys: ["s"], label: "Not sure" },
  dangling: { keys: ["n"], label: "Has no counterpart" },
  undo: { keys: ["u", "Backspace"], label: "Undo" },
  evidence: { keys: ["e"], label: "Show or hide evidence" },
  comment: { keys: ["c"], label: "Comment" },
  search: { keys: ["/"], label: "Search another" },
  open: { keys: ["o"], label: "Open both IRIs" },
  next: { keys: ["ArrowRight"], label: "Look at the next candidate" },
  previous: { keys: ["ArrowLeft"], label: "Look at the candidate before" },
  scores: { keys: ["h"], label: "Show or hide scores" },
  help: { keys: ["?"], label: "All keys" },
} as const satisfies Record<string, { keys: readonly string[]; label: string }>;

export type Action = keyof typeof ACTIONS;
type KeyMap = Partial<Record<Action, string[]>>;

/** The keys that differ from the defaults. */
export const chosenKeys = new Store<KeyMap>(readStored<KeyMap>("keys", {}));

export function keysOf(action: Action): readonly string[] {
  return chosenKeys.value[action] ?? ACTIONS[action].keys;
}

/** Give a key to an action; an action that had it loses it. */
export function chooseKey(action: Action, key: string): void {
  const chosen: KeyMap = { ...chosenKeys.value, [action]: [key] };
  for (const other of Object.keys(ACTIONS) as Action[]) {
    if (other !== action && keysOf(other).includes(key)) {
      chosen[other] = keysOf(other).filter((held) => held !== key);
    }
  }
  chosenKeys.set(chosen);
  writeStored("keys", chosen);
}

export function resetKeys(): void {
  chosenKeys.set({});
  removeStored("keys");
}

const NAMES: Record<string, string> = {
  " ": "space",
  Backspace: "backspace",
  ArrowRight: "→",
  ArrowLeft: "←",
  ArrowUp: "↑",
  ArrowDown: "↓",
};

export function nameKey(key: string): string {
  return NAMES[key] ?? key;
}

/** The key of an event as it is stored: letters without regard to case. */
export function readKey(event: KeyboardEvent): string {
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

/** The action that a key press asks for, unless it belongs to a field or button. */
export function findAction(event: KeyboardEvent): Action | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  const target = event.target as HTMLElement;
  if (target.closest("input, textarea, select, dialog[open]")) return;
  // Space and Enter press the button or link that has the focus.
  const presses = event.key === " " || event.key === "Enter";
  if (presses && target.closest("button, a, summary")) return;
  const key = readKey(event);
  return (Object.keys(ACTIONS) as Action[]).find((action) => keysOf(action).includes(key));
}
