// Search by label: for a counterpart that is not among the candidates, or to look at an entity.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "../api.ts";
import type { Entity, SearchResult, Side } from "../types.ts";
import { Dialog } from "./dialog.tsx";
import { Iri, Label } from "./basics.tsx";

/** Milliseconds without a key press before a search is sent. */
const PAUSE = 150;

export function SearchDialog(props: {
  title: string;
  side?: Side;
  start?: string;
  onPick: (entity: Entity) => void;
  onClose: () => void;
}) {
  const [text, setText] = useState(props.start ?? "");
  const [results, setResults] = useState<SearchResult[] | null>(null);
  const [problem, setProblem] = useState("");
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  useEffect(() => {
    const abort = new AbortController();
    if (!text.trim()) {
      setResults(null);
      return;
    }
    const timer = setTimeout(() => {
      get<{ results: SearchResult[] }>("/search", { text: text.trim(), side: props.side }, abort.signal).then(
        (page) => {
          setResults(page.results);
          setChosen(0);
          setProblem("");
        },
        (error: unknown) => {
          if (!abort.signal.aborted) setProblem(error instanceof ApiError ? error.message : String(error));
        },
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, props.side]);
  const pick = (result: SearchResult | undefined) => {
    if (!result) return;
    props.onClose();
    props.onPick(result.entity);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = (results?.length ?? 0) - 1;
    if (event.key === "ArrowDown") setChosen(Math.min(last, chosen + 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(0, chosen - 1));
    else if (event.key === "Enter") pick(results?.[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <input
        ref={input}
        type="search"
        class="full"
        dir="auto"
        aria-label="Search by label"
        aria-describedby="search-count"
        placeholder="Part of a label"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <p id="search-count" class="muted small" aria-live="polite">
        {problem || (results === null ? "↑ ↓ to move, Enter to choose" : `${results.length} found`)}
      </p>
      <ul class="results">
        {results?.map((result, index) => (
          <li key={result.entity.side + result.entity.name}>
            <button class={index === chosen ? "chosen" : ""} aria-current={index === chosen} onClick={() => pick(result)}>
              <Label entity={result.entity} />
              {!props.side && <span class="muted"> {result.entity.side}</span>}
              {result.match !== result.entity.label && <span class="muted"> ({result.match})</span>}
              {result.link && <span class="muted"> has a link</span>}
            </button>{" "}
            <Iri entity={result.entity} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
