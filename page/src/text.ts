// Numbers, times, names and languages as people read them.
import type { Entity, Relation } from "./types.ts";

const numbers = new Intl.NumberFormat("en");
const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function formatCount(count: number | null | undefined): string {
  return count === null || count === undefined ? "–" : numbers.format(count);
}

export function formatPlural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatConfidence(confidence: number): string {
  return confidence.toFixed(confidence > 0.99 && confidence < 1 ? 3 : 2);
}

/** A contribution with its sign; a true minus is as wide as a plus. */
export function formatSigned(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 ? `−${text}` : `+${text}`;
}

export function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

export function formatTime(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : times.format(time);
}

export function formatRelation(relation: Relation): string {
  return relation.inverse ? `← ${relation.label}` : relation.label;
}

/** An IRI without its scheme, with its characters readable. */
export function formatIri(name: string): string {
  try {
    return decodeURI(name).replace(/^https?:\/\//, "");
  } catch {
    return name;
  }
}

/** What an entity is called; the last part of its IRI if it has no name. */
export function formatLabel(label: string, name: string): string {
  if (label !== name) return label;
  return formatIri(name).split(/[/#]/).findLast((part) => part !== "") ?? name;
}

/** The address of an entity if a browser may open it. */
export function webAddress(entity: Entity): string | undefined {
  return entity.url !== null && /^https?:\/\//i.test(entity.url) ? entity.url : undefined;
}

// A script that only one language of interest uses, for labels whose language is not known: a
// browser chooses the glyphs of Han characters by language.
const SCRIPTS: [RegExp, string][] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, "ja"],
  [/\p{Script=Hangul}/u, "ko"],
  [/\p{Script=Han}/u, "zh"],
  [/\p{Script=Hebrew}/u, "he"],
  [/\p{Script=Thai}/u, "th"],
  [/\p{Script=Greek}/u, "el"],
];

export function guessLanguage(text: string): string | undefined {
  return SCRIPTS.find(([pattern]) => pattern.test(text))?.[1];
}

/** The word of a label, shortened to a number of characters (not code units). */
export function shorten(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
