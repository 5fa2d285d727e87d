// Start an update and follow it.
import { useState } from "preact/hooks";
import { announce } from "../announce.ts";
import { ApiError, post } from "../api.ts";
import { situation } from "../session.ts";
import { useStore } from "../store.ts";
import type { UpdateProgress } from "../types.ts";
import { Problem } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";

const FILES = [
  ["left", "Triples added to the left graph"],
  ["right", "Triples added to the right graph"],
  ["remove_left", "Triples removed from the left graph"],
  ["remove_right", "Triples removed from the right graph"],
] as const;

type Request = { full: boolean } & Record<(typeof FILES)[number][0], string | null>;

const NOTHING: Request = { left: null, right: null, remove_left: null, remove_right: null, full: false };

export function UpdateStatus() {
  const { update } = useStore(situation);
  if (update?.state !== "running") return null;
  return (
    <span class="update">
      <progress aria-label="Progress of the update" value={update.total ? update.done : undefined} max={update.total ?? undefined} />{" "}
      <span>Updating{update.step && `: ${update.step}`}</span>
    </span>
  );
}

export async function startUpdate(request: Partial<Request> = {}): Promise<string> {
  try {
    const { update } = await post<{ update: UpdateProgress }>("/updates", { ...NOTHING, ...request });
    situation.update({ update });
    announce("The update has started.");
    return "";
  } catch (error) {
    return error instanceof ApiError ? error.message : String(error);
  }
}

export function UpdateDialog({ onClose }: { onClose: () => void }) {
  const { update } = useStore(situation);
  const [request, setRequest] = useState<Request>(NOTHING);
  const [problem, setProblem] = useState("");
  const isRunning = update?.state === "running";
  const start = async (event: Event) => {
    event.preventDefault();
    const message = await startUpdate(request);
    setProblem(message);
    if (!message) onClose();
  };
  return (
    <Dialog title="Update" onClose={onClose}>
      <form class="form" onSubmit={(event) => void start(event)}>
        <p>Answers that are waiting take effect. Reading and answering go on meanwhile.</p>
        <details>
          <summary>New facts</summary>
          {FILES.map(([name, label]) => (
            <label key={name}>
              {label}
              <input
                type="text"
                placeholder="path or address of a file"
                value={request[name] ?? ""}
                onInput={(event) => setRequest({ ...request, [name]: event.currentTarget.value.trim() || null })}
              />
            </label>
          ))}
        </details>
        <label class="check">
          <input type="checkbox" checked={request.full} onChange={(event) => setRequest({ ...request, full: event.currentTarget.checked })} /> Score
          every pair again
        </label>
        {problem && <Problem text={problem} />}
        <UpdateStatus />
        <p>
          <button type="submit" class="main" disabled={isRunning}>
            Start the update
          </button>
        </p>
      </form>
    </Dialog>
  );
}
