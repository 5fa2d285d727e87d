// What the browser remembers. It may be forbidden or full: then the page works without it.
export function readStored<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(`everalign/${name}`);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

/** Store a value, and say whether that was possible. */
export function writeStored(name: string, value: unknown): boolean {
  try {
    localStorage.setItem(`everalign/${name}`, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function removeStored(name: string): void {
  try {
    localStorage.removeItem(`everalign/${name}`);
  } catch {
    // Then it was not stored either.
  }
}

/** The names of stored values that begin with a prefix, sorted. */
export function listStored(prefix: string): string[] {
  const start = `everalign/${prefix}`;
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(start));
    return names.map((name) => name.slice("everalign/".length)).sort();
  } catch {
    return [];
  }
}

/** A random key; `crypto.randomUUID` would need a secure origin. */
export function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
