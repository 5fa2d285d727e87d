// The alignment that is served, and the stream of what happens to it.
import { announce } from "./announce.ts";
import { connection } from "./api.ts";
import { Store } from "./store.ts";
import { formatPlural } from "./text.ts";
import type { Session, UpdateProgress } from "./types.ts";

export interface Situation {
  session: Session | null;
  error: string;
  /** The version that the views show. */
  shown: number;
  /** The newest version that the service has announced. */
  newest: number;
  /** What the newest version brought, in words. */
  news: string;
  update: UpdateProgress | null;
}

export const situation = new Store<Situation>({
  session: null,
  error: "",
  shown: 0,
  newest: 0,
  news: "",
  update: null,
});

type NewsListener = {
  onVersion?: (version: number) => void;
  onDecisions?: (decisions: StreamedDecision[]) => void;
  onConnection?: () => void;
};

export interface StreamedDecision {
  kind: string;
  left: string | null;
  right: string | null;
  author: string;
  key: string;
}

const listeners = new Set<NewsListener>();

export function followNews(listener: NewsListener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function enterSession(session: Session): void {
  const { version, update } = session;
  situation.update({ session, error: "", shown: version, newest: version, update });
}

/** Show the newest version in the views; a question that is being looked at stays. */
export function showNewest(): void {
  situation.update({ shown: situation.value.newest, news: "" });
}

export function startStream(): void {
  const stream = new EventSource("/api/v1/events");
  const on = (name: string, handle: (data: never) => void) =>
    stream.addEventListener(name, (event) => handle(JSON.parse((event as MessageEvent<string>).data) as never));
  on("hello", (data: { version: number; update: UpdateProgress | null }) => {
    connection.update({ online: true });
    situation.update({ update: data.update });
    noteVersion(data.version, "");
    for (const listener of listeners) listener.onConnection?.();
  });
  on("version", (data: { version: number; report: Record<string, number> }) =>
    noteVersion(data.version, describeReport(data.report)),
  );
  on("update", (update: UpdateProgress) => {
    const before = situation.value.update;
    situation.update({ update });
    if (update.state === before?.state && update.id === before.id) return;
    if (update.state === "failed") announce(`The update failed: ${update.message}`, "problem");
    if (update.state === "done" && update.version === null) announce(update.message || "Nothing to do");
  });
  on("decision", (data: { decisions: StreamedDecision[] }) => {
    for (const listener of listeners) listener.onDecisions?.(data.decisions);
  });
  stream.addEventListener("error", () => connection.update({ online: false }));
}

function noteVersion(version: number, news: string): void {
  if (version === situation.value.newest) return;
  situation.update({ newest: version, news });
  announce(`Version ${version} is ready${news ? `: ${news}` : ""}.`);
  for (const listener of listeners) listener.onVersion?.(version);
}

function describeReport(report: Record<string, number> | undefined): string {
  const counts: string[] = [];
  for (const kind of ["added", "revised", "retracted", "confirmed", "rejected"]) {
    const count = report?.[kind] ?? report?.[`links_${kind}`] ?? 0;
    if (count > 0) counts.push(`${formatPlural(count, "link")} ${kind}`);
  }
  return counts.join(", ");
}
