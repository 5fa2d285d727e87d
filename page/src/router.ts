// The view and its filters are the address of the page.
import { writeQuery, type Parameters } from "./api.ts";
import { Store } from "./store.ts";

export interface Place {
  path: string;
  query: URLSearchParams;
}

function readPlace(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

export const place = new Store<Place>(readPlace());

export function navigate(address: string, replace = false): void {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  place.set(readPlace());
}

/** Change some parameters of the address; null removes one. */
export function changeQuery(part: Parameters, replace = true): void {
  const parameters: Parameters = { ...Object.fromEntries(place.value.query), ...part };
  navigate(place.value.path + writeQuery(parameters), replace);
}

export function linkAddress(left: string, right: string): string {
  return `/link${writeQuery({ left, right })}`;
}

export function entityAddress(entity: { name: string; side?: string }): string {
  return `/entity${writeQuery({ name: entity.name, side: entity.side })}`;
}

/** Follow links within the page without loading it again. */
export function startRouter(): void {
  addEventListener("popstate", () => place.set(readPlace()));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = (event.target as Element | null)?.closest?.("a");
    if (!anchor || anchor.target || anchor.origin !== location.origin) return;
    if (anchor.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    navigate(anchor.pathname + anchor.search);
  });
}
