// The questions at hand, the answers given, and what a key does to them.
import { announce } from "./announce.ts";
import { ApiError, get, post } from "./api.ts";
import { Outbox } from "./outbox.ts";
import { followNews, situation, type StreamedDecision } from "./session.ts";
import { settings } from "./settings.ts";
import { makeKey } from "./storage.ts";
import { Store } from "./store.ts";
import type { DecisionRequest, Entity, Question, QuestionPage } from "./types.ts";

export type AnswerKind = "same" | "different" | "none of these" | "no counterpart" | "not sure";

export interface Answer {
  key: string;
  question: Question;
  kind: AnswerKind;
  /** The candidate that was accepted or rejected. */
  chosen: Entity | null;
  comment: string;
  status: "waiting" | "saved" | "refused";
  problem: string;
}

export interface ReviewState {
  /** The first is the one that is shown. */
  questions: Question[];
  /** Newest first. */
  answers: Answer[];
  /** An answer whose question is shown again, to be changed. */
  changing: Answer | null;
  comment: string;
  loading: boolean;
  problem: string;
  /** Answers of this author in the batch. */
  answered: number;
  /** The gain of F1 that was expected of the answers of the batch when they were asked for. */
  earnedGain: number;
  remaining: number;
  /** Whether the end of a batch is shown instead of a question. */
  batchDone: boolean;
  /** Who has just answered the question that is shown. */
  answeredBy: string;
}

/** How many answers make a batch. */
export const BATCH = 100;
/** How many questions are asked for at once, and how few are left when more are asked for. */
const FETCH_COUNT = 20;
const REFILL_BELOW = 12;
/** How many answers can be changed. */
const CHANGEABLE = 10;
/** How many answered questions a request names: answers to them may be on their way. */
const EXCLUDED = 100;

export const review = new Store<ReviewState>({
  questions: [],
  answers: [],
  changing: null,
  comment: "",
  loading: true,
  problem: "",
  answered: 0,
  earnedGain: 0,
  remaining: 0,
  batchDone: false,
  answeredBy: "",
});

export let outbox: Outbox;

/** Questions that were put off; they come back when there are no others. */
const later: Question[] = [];
/** Questions answered here, newest last: the service may not know of the answers yet. */
const answeredIds: string[] = [];
/** The gain of F1 that each question promises. */
const gains = new WeakMap<Question, number>();
let fetching = false;
/** Counts how often prefetched questions were dropped; a fetch from before is not used. */
let generation = 0;

/** Make ready what the views need; questions are fetched when the session is known. */
export function prepareReview(name: string): void {
  outbox = new Outbox(name, ({ key, error, notice }) => noteOutcome(key, error, notice));
  followNews({ onVersion: dropPrefetched, onDecisions: noteDecisions, onConnection: reconnect });
}

export function currentAuthor(): string {
  const { session } = situation.value;
  if (session?.author_fixed) return session.author;
  return settings.value.author || session?.author || "";
}

function reconnect(): void {
  outbox.sendNow();
  if (review.value.questions.length < REFILL_BELOW) void fetchQuestions();
}

/** Fetch questions behind those at hand. */
export async function fetchQuestions(): Promise<void> {
  if (fetching) return;
  fetching = true;
  const started = generation;
  try {
    const held = [...review.value.questions, ...later].map((question) => question.id);
    const exclude = [...held, ...answeredIds.slice(-EXCLUDED)];
    // POST, since the addresses of so many questions do not fit into one; it writes nothing.
    const page = await post<QuestionPage>("/questions", { limit: FETCH_COUNT, exclude, author: currentAuthor() });
    if (started === generation) takeQuestions(page);
  } catch (error) {
    if (error instanceof ApiError) review.update({ loading: false, problem: error.message });
    if (error instanceof ApiError && error.passing) setTimeout(() => void fetchQuestions(), 3000);
    if (!(error instanceof ApiError)) throw error;
  } finally {
    fetching = false;
  }
  if (started !== generation) void fetchQuestions();
}

function takeQuestions(page: QuestionPage): void {
  const state = review.value;
  const known = new Set([...state.questions, ...later].map((question) => question.id));
  for (const id of answeredIds) known.add(id);
  const added = page.questions.filter((question) => !known.has(question.id));
  const questions = [...state.questions, ...added];
  // Nothing else is left: what was put off comes back.
  if (questions.length === 0) questions.push(...later.splice(0));
  const part: Partial<ReviewState> = { questions, loading: false, problem: "", remaining: page.remaining };
  const share = page.expected_gain / Math.max(1, page.questions.length);
  for (const question of added) gains.set(question, share);
  if (state.loading) part.answered = page.answered % BATCH;
  review.update(part);
}

/** A new version has better questions, but the one under the cursor stays. */
function dropPrefetched(): void {
  generation += 1;
  review.update({ questions: review.value.questions.slice(0, 1) });
  void fetchQuestions();
}

/** Others have answered: their questions need not be asked, except the one that is shown. */
function noteDecisions(decisions: StreamedDecision[]): void {
  const mine = new Set(review.value.answers.map((answer) => answer.key));
  const others = decisions.filter((decision) => !mine.has(decision.key.split("/")[0]!));
  if (others.length === 0) return;
  const by = new Map<string, string>();
  for (const { left, right, author } of others) {
    if (left) by.set(`left ${left}`, author || "someone else");
    if (right) by.set(`right ${right}`, author || "someone else");
  }
  const [current, ...rest] = review.value.questions;
  if (!current) return;
  const find = ({ entity }: Question) => by.get(`${entity.side} ${entity.name}`);
  const questions = [current, ...rest.filter((question) => !find(question))];
  const author = find(current);
  // Our own answers from another window are no news.
  const answeredBy = author && author !== currentAuthor() ? author : review.value.answeredBy;
  review.update({ questions, answeredBy });
}

/** Put the question behind the current one in its place. */
function advance(part: Partial<ReviewState>): void {
  const questions = review.value.questions.slice(1);
  review.update({ comment: "", changing: null, answeredBy: "", ...part, questions });
  if (questions.length < REFILL_BELOW) void fetchQuestions();
}

export function answerQuestion(kind: AnswerKind, chosen: Entity | null = null): void {
  const { questions, changing, comment, answers, answered, earnedGain, remaining } = review.value;
  const question = questions[0];
  if (!question || review.value.batchDone) return;
  const author = currentAuthor();
  if (changing && changing.status !== "refused") outbox.withdraw(changing.key, author);
  const key = makeKey();
  const answer: Answer = { key, question, kind, chosen, comment, status: "waiting", problem: "" };
  answeredIds.push(question.id);
  const count = changing ? answered : answered + 1;
  advance({
    answers: [answer, ...answers.filter((other) => other.key !== changing?.key)].slice(0, CHANGEABLE),
    answered: count,
    batchDone: count >= BATCH,
    earnedGain: earnedGain + (changing ? 0 : (gains.get(question) ?? 0)),
    remaining: Math.max(0, remaining - (changing ? 0 : 1)),
  });
  outbox.decide(makeRequest(answer), author);
}

function makeRequest({ key, question, kind, chosen, comment }: Answer): DecisionRequest {
  const { entity, seen_version } = question;
  if (kind === "same" || kind === "different") {
    const [left, right] = entity.side === "left" ? [entity, chosen!] : [chosen!, entity];
    return { key, kind, left: left.name, right: right.name, seen_version, comment };
  }
  const request = { key, kind, entity: { side: entity.side, name: entity.name }, seen_version, comment };
  if (kind === "no counterpart") return request;
  return { ...request, candidates: question.candidates.map((candidate) => candidate.entity.name) };
}

/** Put the question off; one that is shown again keeps its answer. */
export function putOff(): void {
  const { questions, changing } = review.value;
  const question = questions[0];
  if (!question) return;
  if (!changing) later.push(question);
  advance({});
}

/** Take the last answer back and show its question again. */
export function undoAnswer(): void {
  const { answers, questions, answered, changing, earnedGain } = review.value;
  if (changing) {
    advance({});
    return;
  }
  const [last, ...rest] = answers;
  if (!last) {
    announce("There is nothing to undo.");
    return;
  }
  if (last.status !== "refused") outbox.withdraw(last.key, currentAuthor());
  forgetAnswered(last.question.id);
  review.update({
    answers: rest,
    questions: [last.question, ...questions],
    answered: Math.max(0, answered - 1),
    remaining: review.value.remaining + 1,
    earnedGain: Math.max(0, earnedGain - (gains.get(last.question) ?? 0)),
    batchDone: false,
    comment: last.comment,
    answeredBy: "",
  });
  announce(`Taken back: ${describeAnswer(last)}`);
}

/** Show the question of an earlier answer again. */
export function changeAnswer(answer: Answer): void {
  const { questions, changing } = review.value;
  const others = changing ? questions.slice(1) : questions;
  const comment = answer.comment;
  review.update({ changing: answer, questions: [answer.question, ...others], comment, batchDone: false, answeredBy: "" });
}

/** Ask about an entity of one's own choice, before the other questions. */
export async function askAbout(entity: Entity): Promise<void> {
  const { question } = await get<{ question: Question }>("/question", { name: entity.name, side: entity.side });
  const { questions, changing } = review.value;
  const others = (changing ? questions.slice(1) : questions).filter((other) => other.id !== question.id);
  review.update({ questions: [question, ...others], changing: null, comment: "", batchDone: false, answeredBy: "" });
}

function forgetAnswered(id: string): void {
  const index = answeredIds.lastIndexOf(id);
  if (index >= 0) answeredIds.splice(index, 1);
}

function noteOutcome(key: string, error: string | null, notice: string | null): void {
  const answers = review.value.answers.map((answer) => {
    if (answer.key !== key) return answer;
    return { ...answer, status: error ? ("refused" as const) : ("saved" as const), problem: error ?? notice ?? "" };
  });
  const changing = answers.find((answer) => answer.key === review.value.changing?.key) ?? review.value.changing;
  review.update({ answers, changing });
  if (error) announce(`An answer was not recorded: ${error}`, "problem");
}

/** The gain of F1 that a batch promises: of its answers so far, and of as many as are left. */
export function expectBatchGain({ questions, answered, earnedGain }: ReviewState): number {
  const ahead = questions.map((question) => gains.get(question) ?? 0);
  const mean = ahead.reduce((sum, gain) => sum + gain, 0) / Math.max(1, ahead.length);
  return earnedGain + mean * Math.max(0, BATCH - answered);
}

/** Go on after the end of a batch. */
export function startBatch(): void {
  review.update({ batchDone: false, answered: 0, earnedGain: 0 });
}

export function describeAnswer({ question, kind, chosen }: Answer): string {
  const label = question.entity.label;
  if (kind === "same") return `${label} is ${chosen!.label}`;
  if (kind === "different") return `${label} is not ${chosen!.label}`;
  if (kind === "none of these") return `${label}: none of ${question.candidates.length}`;
  return `${label}: ${kind}`;
}
