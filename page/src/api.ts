// Requests to the service.
import { Store } from "./store.ts";

const BASE = "/api/v1";

/** Whether the last request reached the service. */
export const connection = new Store<{ online: boolean }>({ online: true });

/** The service answered with an error. `status` is 0 if there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export type Parameters = Record<string, string | number | boolean | null | undefined>;

/** Write parameters as the query of a URL; empty ones are left out. */
export function writeQuery(parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}

export function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  return request<T>(`${BASE}${path}${writeQuery(parameters)}`, { signal });
}

export function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return request<T>(`${BASE}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function request<T>(address: string, options: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    connection.update({ online: false });
    throw new ApiError(0, "offline", "the service cannot be reached");
  }
  connection.update({ online: true });
  const text = await response.text();
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  if (response.ok && body !== null) return body as T;
  const { error } = (body ?? {}) as { error?: { code?: string; message?: string } };
  const wait = Number(response.headers.get("Retry-After")) || 0;
  const message = error?.message ?? `the service answered with status ${response.status}`;
  throw new ApiError(response.status, error?.code ?? "unknown", message, wait);
}
