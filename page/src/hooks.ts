// What several views need.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, writeQuery, type Parameters } from "./api.ts";
import { situation } from "./session.ts";
import { useStore } from "./store.ts";

export interface Loaded<T> {
  data: T | null;
  error: string;
  loading: boolean;
  reload: () => void;
}

/** Read from the service, again when the address or the shown version changes. */
export function useData<T>(path: string, parameters: Parameters = {}): Loaded<T> {
  const { shown } = useStore(situation);
  const [state, setState] = useState<{ address: string; data: T | null; error: string; loading: boolean }>({
    address: "",
    data: null,
    error: "",
    loading: true,
  });
  const [attempt, setAttempt] = useState(0);
  const address = path + writeQuery(parameters);
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, data: before.address === address ? before.data : null, loading: true }));
    get<T>(path, parameters, abort.signal).then(
      (data) => setState({ address, data, error: "", loading: false }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const message = error instanceof ApiError ? error.message : String(error);
        setState({ address, data: null, error: message, loading: false });
      },
    );
    return () => abort.abort();
  }, [address, shown, attempt]);
  const reload = useCallback(() => setAttempt((count) => count + 1), []);
  return { ...state, reload };
}

export interface Pages<T, P> {
  items: T[];
  first: P | null;
  error: string;
  loading: boolean;
  more: (() => void) | null;
  reload: () => void;
}

/** Read a list page by page. */
export function usePages<T, P extends { next: string | null }>(
  path: string,
  parameters: Parameters,
  select: (page: P) => T[],
): Pages<T, P> {
  const first = useData<P>(path, parameters);
  const [rest, setRest] = useState<{ of: P | null; pages: P[] }>({ of: null, pages: [] });
  const [problem, setProblem] = useState("");
  const pages = first.data && rest.of === first.data ? [first.data, ...rest.pages] : first.data ? [first.data] : [];
  const next = pages.at(-1)?.next ?? null;
  const more = async () => {
    try {
      const page = await get<P>(path, { ...parameters, after: next });
      setRest((before) => ({ of: first.data, pages: before.of === first.data ? [...before.pages, page] : [page] }));
      setProblem("");
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
    }
  };
  return {
    items: pages.flatMap(select),
    first: first.data,
    error: first.error || problem,
    loading: first.loading,
    more: next === null ? null : () => void more(),
    reload: first.reload,
  };
}

/** The width of an element in pixels, so that a drawing has text of a readable size. */
export function useWidth(otherwise = 640): [(element: Element | null) => void, number] {
  const [width, setWidth] = useState(otherwise);
  const observer = useRef<ResizeObserver | null>(null);
  const attach = useCallback((element: Element | null) => {
    observer.current?.disconnect();
    if (!element) return;
    const measure = () => setWidth(Math.max(240, Math.floor(element.clientWidth)));
    observer.current = new ResizeObserver(measure);
    observer.current.observe(element);
    measure();
  }, []);
  return [attach, width];
}

/** The title of the window, and the focus on the heading of a new view. */
export function useTitle(title: string): void {
  useEffect(() => {
    const { session } = situation.value;
    document.title = [title, session?.name, "EverAlign"].filter(Boolean).join(" – ");
  }, [title]);
}
