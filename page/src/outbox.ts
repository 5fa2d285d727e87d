// Answers on their way to the service.
//
// An answer is stored in the browser before it is sent, and removed when the service has recorded
// it. Its key makes a repeated request harmless, so whatever may not have arrived is sent again:
// after a lost connection, after the page was closed, from another window.
import { ApiError, post } from "./api.ts";
import { listStored, makeKey, readStored, removeStored, writeStored } from "./storage.ts";
import { Store } from "./store.ts";
import type { DecisionOutcome, DecisionRequest, WithdrawalRequest } from "./types.ts";

interface Item {
  order: number;
  path: "decisions" | "withdrawals";
  request: DecisionRequest | WithdrawalRequest;
  author: string;
  /** Whether the browser holds it. Then another window may send it or take it back. */
  stored?: boolean;
}

type Outcome = { key: string; error: string | null; notice: string | null };

/** The most requests that are sent at once. */
const BATCH = 50;
/** Seconds between attempts: from the first to the longest. */
const FIRST_WAIT = 1;
const LONGEST_WAIT = 30;

export class Outbox {
  /** How many answers wait, and why if they cannot be sent. */
  readonly state = new Store<{ waiting: number; problem: string }>({ waiting: 0, problem: "" });
  private readonly items = new Map<string, Item>();
  private readonly sending = new Set<string>();
  private wait = FIRST_WAIT;
  private timer = 0;
  private busy = false;

  /**
   * @param name Name of the alignment: answers about another one are not sent.
   * @param onOutcome Called for each request that the service has taken or refused.
   */
  constructor(
    private readonly name: string,
    private readonly onOutcome: (outcome: Outcome) => void,
  ) {
    for (const stored of listStored(`${name}/outbox/`)) {
      const item = readStored<Item | null>(stored, null);
      if (item?.request?.key) this.items.set(item.request.key, { ...item, stored: true });
    }
    this.report("");
    addEventListener("online", () => this.sendNow());
    void this.send();
  }

  has(key: string): boolean {
    return this.items.has(key);
  }

  decide(request: DecisionRequest, author: string): void {
    this.add({ order: Date.now(), path: "decisions", request, author });
  }

  /** Take an answer back: before it is sent if possible, by a withdrawal otherwise. */
  withdraw(key: string, author: string): void {
    if (this.items.has(key) && !this.sending.has(key)) {
      this.remove(key);
      this.report("");
      return;
    }
    const request = { key: makeKey(), withdraws: key };
    this.add({ order: Date.now(), path: "withdrawals", request, author });
  }

  /** Try again at once, for instance when the connection is back. */
  sendNow(): void {
    this.wait = FIRST_WAIT;
    void this.send();
  }

  private add(item: Item): void {
    this.items.set(item.request.key, { ...item, stored: writeStored(this.storedName(item), item) });
    this.report(this.state.value.problem);
    void this.send();
  }

  private remove(key: string): void {
    const item = this.items.get(key);
    if (!item) return;
    this.items.delete(key);
    removeStored(this.storedName(item));
  }

  private storedName(item: Item): string {
    return `${this.name}/outbox/${item.order}-${item.request.key}`;
  }

  private report(problem: string): void {
    this.state.set({ waiting: this.items.size, problem });
  }

  private async send(): Promise<void> {
    if (this.busy) return;
    clearTimeout(this.timer);
    this.busy = true;
    try {
      for (let batch = this.nextBatch(); batch.length > 0; batch = this.nextBatch()) {
        await this.sendBatch(batch);
      }
      this.wait = FIRST_WAIT;
    } catch (error) {
      this.tryLater(error);
    } finally {
      this.busy = false;
    }
  }

  /** The oldest requests that go to the same address; the order of answers is kept. */
  private nextBatch(): Item[] {
    const batch: Item[] = [];
    this.dropFinished();
    for (const item of this.items.values()) {
      const first = batch[0] ?? item;
      if (item.path !== first.path || item.author !== first.author) break;
      if (batch.length === BATCH) break;
      batch.push(item);
    }
    return batch;
  }

  /** Forget what another window has sent or taken back. */
  private dropFinished(): void {
    for (const [key, item] of this.items) {
      if (item.stored && readStored(this.storedName(item), null) === null) this.items.delete(key);
    }
    this.report(this.state.value.problem);
  }

  private async sendBatch(batch: Item[]): Promise<void> {
    const { path, author } = batch[0]!;
    const requests = batch.map((item) => item.request);
    for (const request of requests) this.sending.add(request.key);
    try {
      const answer = await post<{ results: DecisionOutcome[] }>(`/${path}`, { [path]: requests, author });
      for (const result of answer.results) {
        const error = result.status === "refused" ? (result.error?.message ?? "refused") : null;
        this.finish(result.key, error, result.notice);
      }
      // A service that leaves one out must not make us send it for ever.
      for (const request of requests) this.finish(request.key, "the service did not answer", null);
    } catch (error) {
      const keep = !(error instanceof ApiError) || error.passing || error.status === 401;
      if (keep) throw error;
      for (const request of requests) this.finish(request.key, error.message, null);
    } finally {
      this.sending.clear();
      this.report("");
    }
  }

  private finish(key: string, error: string | null, notice: string | null): void {
    if (!this.items.has(key)) return;
    this.remove(key);
    this.onOutcome({ key, error, notice });
  }

  private tryLater(error: unknown): void {
    const known = error instanceof ApiError ? error : null;
    const ended = known?.status === 401;
    this.report(ended ? "the session has ended: open the address that the service printed" : String(known?.message ?? error));
    const seconds = Math.max(this.wait, known?.retryAfter ?? 0);
    this.wait = Math.min(LONGEST_WAIT, 2 * this.wait);
    this.timer = setTimeout(() => void this.send(), 1000 * seconds) as unknown as number;
  }
}
