// A value that components follow.
import { useLayoutEffect, useReducer } from "preact/hooks";

export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(next: T): void {
    if (next === this.current) return;
    this.current = next;
    for (const listener of [...this.listeners]) listener();
  }

  update(part: Partial<T>): void {
    this.set({ ...this.current, ...part });
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const seen = store.value;
  useLayoutEffect(() => {
    const unsubscribe = store.subscribe(() => render(undefined));
    // It may have changed between the rendering and this subscription.
    if (store.value !== seen) render(undefined);
    return unsubscribe;
  }, [store]);
  return seen;
}
