// The start of the page.
import { render } from "preact";
import { ApiError, get } from "./api.ts";
import { App } from "./app.tsx";
import "./app.css";
import { fetchQuestions, prepareReview } from "./review.ts";
import { startRouter } from "./router.ts";
import { enterSession, situation, startStream } from "./session.ts";
import { applyTheme } from "./settings.ts";
import type { Session } from "./types.ts";

async function start(): Promise<void> {
  try {
    const session = await get<Session>("/session");
    prepareReview(session.name);
    enterSession(session);
    void fetchQuestions();
    startStream();
  } catch (error) {
    const known = error instanceof ApiError ? error : null;
    const ended = known?.status === 401;
    situation.update({ error: ended ? "Open the address that `everalign serve` printed." : String(known?.message ?? error) });
    if (known?.passing) setTimeout(() => void start(), 3000);
  }
}

applyTheme();
startRouter();
render(<App />, document.getElementById("app")!);
void start();
