// What a person has chosen: colours, scores, name.
import { readStored, writeStored } from "./storage.ts";
import { Store } from "./store.ts";

export type Theme = "system" | "light" | "dark";

export interface Settings {
  theme: Theme;
  showScores: boolean;
  author: string;
}

const DEFAULTS: Settings = { theme: "system", showScores: true, author: "" };

export const settings = new Store<Settings>({
  ...DEFAULTS,
  ...readStored<Partial<Settings>>("settings", {}),
});

export function changeSettings(part: Partial<Settings>): void {
  settings.update(part);
  writeStored("settings", settings.value);
  applyTheme();
}

/** Light, dark, or what the system says; the style sheet reads the attribute. */
export function applyTheme(): void {
  const { theme } = settings.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The theme after the next press of the button: the opposite of what is shown. */
export function toggleTheme(): void {
  const { theme } = settings.value;
  const dark = theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  changeSettings({ theme: dark ? "light" : "dark" });
}
