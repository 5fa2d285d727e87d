// The start of the page.
import { render } from "preact";
import { ApiError } from "./api.ts";
import { App } from "./app.tsx";
import "./app.css";
import { startReview } from "./review.ts";
import { startRouter } from "./router.ts";
import { openSession, situation, startStream } from "./session.ts";
import { applyTheme } from "./settings.ts";

async function start(): Promise<void> {
  try {
    const session = await openSession();
    startReview(session.name);
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
