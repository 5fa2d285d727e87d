// Labels, addresses, numbers and messages.
import type { ComponentChildren } from "preact";
import { entityAddress } from "../router.ts";
import { settings } from "../settings.ts";
import { useStore } from "../store.ts";
import { formatConfidence, formatIri, formatLabel, guessLanguage, webAddress } from "../text.ts";
import type { Loaded } from "../hooks.ts";
import type { Entity, Value } from "../types.ts";

/** Text of the graphs, with its language and direction; only ever a text node. */
export function Text({ text, lang, dir }: { text: string; lang?: string | null; dir?: "ltr" | "rtl" }) {
  return (
    <bdi lang={lang || guessLanguage(text)} dir={dir ?? "auto"}>
      {text}
    </bdi>
  );
}

export function Label({ entity }: { entity: Entity }) {
  return <Text text={formatLabel(entity.label, entity.name)} lang={entity.lang} dir={entity.dir} />;
}

/** A label that leads to the page of the entity. */
export function EntityLink({ entity }: { entity: Entity }) {
  return (
    <a class="entity" href={entityAddress(entity)} title={formatIri(entity.name)}>
      <Label entity={entity} />
    </a>
  );
}

/** The IRI of an entity; a link only if a browser may open it. */
export function Iri({ entity }: { entity: Entity }) {
  const address = webAddress(entity);
  const text = entity.curie || formatIri(entity.name);
  if (!address) return <span class="iri">{text}</span>;
  return (
    <a class="iri" href={address} target="_blank" rel="noopener noreferrer" title={entity.name}>
      {text}
    </a>
  );
}

export function ValueText({ value }: { value: Value }) {
  const text = <Text text={formatLabel(value.text, value.name)} lang={value.lang} dir={value.dir} />;
  if (!value.is_entity) return text;
  return (
    <a class="entity" href={entityAddress(value)} title={formatIri(value.name)}>
      {text}
    </a>
  );
}

/** A score, unless the person does not want to see any. */
export function Confidence({ value, state }: { value: number; state?: string }) {
  const { showScores } = useStore(settings);
  if (!showScores) return null;
  return (
    <span class="confidence" title={state ? `${state}, confidence ${value}` : `confidence ${value}`}>
      {formatConfidence(value)}
    </span>
  );
}

export function State({ state, waiting }: { state: string; waiting?: boolean }) {
  return (
    <span class={`state ${state.replaceAll(" ", "-")}`}>
      {state}
      {waiting ? " (next version)" : ""}
    </span>
  );
}

export function Key({ children }: { children: ComponentChildren }) {
  return <kbd>{children}</kbd>;
}

/** The heading of a view; it gets the focus when the view is opened. */
export function Heading({ children }: { children: ComponentChildren }) {
  return (
    <h1 id="heading" tabIndex={-1}>
      {children}
    </h1>
  );
}

export function Problem({ text, retry }: { text: string; retry?: () => void }) {
  return (
    <p class="problem" role="alert">
      {text} {retry && <button onClick={retry}>Try again</button>}
    </p>
  );
}

/** What a view shows while data is on its way, or did not come. */
export function Loading<T>({ loaded, children }: { loaded: Loaded<T>; children: (data: T) => ComponentChildren }) {
  if (loaded.data) return <>{children(loaded.data)}</>;
  if (loaded.error) return <Problem text={loaded.error} retry={loaded.reload} />;
  return <p class="muted">Loading …</p>;
}

export function More({ more }: { more: (() => void) | null }) {
  if (!more) return null;
  return (
    <p>
      <button onClick={more}>More</button>
    </p>
  );
}
