// What is said to people who hear the page, and shown for a while to those who see it.
import { Store } from "./store.ts";

export interface Announcement {
  text: string;
  kind: "news" | "problem";
  number: number;
}

export const announcement = new Store<Announcement>({ text: "", kind: "news", number: 0 });

export function announce(text: string, kind: Announcement["kind"] = "news"): void {
  announcement.set({ text, kind, number: announcement.value.number + 1 });
}
