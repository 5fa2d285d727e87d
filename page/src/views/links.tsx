// All links, with filters that are part of the address.
import { useEffect, useState } from "preact/hooks";
import { BulkDialog } from "../components/bulk.tsx";
import { Heading, More, Problem } from "../components/basics.tsx";
import { LinkTable } from "../components/link_table.tsx";
import { useData, usePages, useTitle } from "../hooks.ts";
import { changeQuery, navigate, place } from "../router.ts";
import { situation } from "../session.ts";
import { useStore } from "../store.ts";
import { formatCount, shorten } from "../text.ts";
import type { EntityClass, Link, RelationPair } from "../types.ts";

export const LINK_FILTERS = ["text", "state", "min_confidence", "max_confidence", "since", "until", "relation", "class"] as const;

interface LinkPage {
  links: Link[];
  count: number | null;
  next: string | null;
}

/** A text field whose content goes to the address after a pause. */
function TextFilter(props: { name: string; label: string; isNumber?: boolean; max?: number; step?: number }) {
  const { query } = useStore(place);
  const value = query.get(props.name) ?? "";
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => changeQuery({ [props.name]: text }), 300);
    return () => clearTimeout(timer);
  }, [text]);
  const { name, label, isNumber, max, step } = props;
  const common = { id: `filter-${name}`, value: text, onInput: (event: { currentTarget: HTMLInputElement }) => setText(event.currentTarget.value) };
  return (
    <label>
      {label}
      {isNumber ? <input type="number" min={0} max={max} step={step} {...common} /> : <input type="search" dir="auto" {...common} />}
    </label>
  );
}

function ChoiceFilter({ name, label, options }: { name: string; label: string; options: [string, string][] }) {
  const { query } = useStore(place);
  const value = query.get(name) ?? "";
  const known = options.some(([option]) => option === value) || !value;
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => changeQuery({ [name]: event.currentTarget.value }, false)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
        {!known && <option value={value}>{shorten(value, 40)}</option>}
      </select>
    </label>
  );
}

const STATES: [string, string][] = [
  ["", "in force"],
  ["found", "found"],
  ["given", "given"],
  ["proposed", "proposed"],
  ["rejected", "rejected"],
];

function Filters() {
  const relations = useData<{ relations: RelationPair[] }>("/relations", { min_inclusion: 0.1 });
  const classes = useData<{ classes: Record<"left" | "right", EntityClass[]> }>("/classes");
  const relationNames = new Map<string, string>([["", "any"]]);
  for (const pair of relations.data?.relations ?? []) {
    relationNames.set(pair.left.name, shorten(pair.left.label, 40));
    if (!relationNames.has(pair.right.name)) relationNames.set(pair.right.name, shorten(pair.right.label, 40));
  }
  const classNames = new Map<string, string>([["", "any"]]);
  for (const side of ["left", "right"] as const) {
    for (const item of classes.data?.classes[side] ?? []) {
      classNames.set(item.name, `${shorten(item.label, 36)} (${formatCount(item.entities)})`);
    }
  }
  return (
    <form class="filters" role="search" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <TextFilter name="text" label="Text" />
      <ChoiceFilter name="state" label="State" options={STATES} />
      <TextFilter name="min_confidence" label="Confidence from" isNumber max={1} step={0.01} />
      <TextFilter name="max_confidence" label="to" isNumber max={1} step={0.01} />
      <TextFilter name="since" label="Since version" isNumber step={1} />
      <TextFilter name="until" label="to" isNumber step={1} />
      <ChoiceFilter name="relation" label="Relation" options={[...relationNames]} />
      <ChoiceFilter name="class" label="Class" options={[...classNames]} />
      <button type="button" onClick={() => navigate("/links")}>
        No filters
      </button>
    </form>
  );
}

export function LinksView() {
  useTitle("Links");
  const { query } = useStore(place);
  const { session } = useStore(situation);
  const [bulk, setBulk] = useState(false);
  const filters = Object.fromEntries(LINK_FILTERS.map((name) => [name, query.get(name)]));
  const pages = usePages<Link, LinkPage>("/links", filters, (page) => page.links);
  const state = query.get("state");
  const canBulk = session?.can.decide && (state === null || state === "found" || state === "proposed") && pages.items.length > 0;
  const count = pages.first?.count;
  return (
    <>
      <Heading>Links</Heading>
      <Filters />
      {pages.error && <Problem text={pages.error} retry={pages.reload} />}
      <p class="row" role="status">
        {pages.loading ? "Loading …" : count === null || count === undefined ? `${pages.items.length}${pages.more ? " and more" : ""} links` : `${formatCount(count)} links`}
      </p>
      {canBulk && (
        <p>
          <button onClick={() => setBulk(true)}>Accept them all …</button>
        </p>
      )}
      {pages.items.length > 0 ? <LinkTable links={pages.items} /> : !pages.loading && !pages.error && <p>No link fits.</p>}
      <More more={pages.more} />
      {bulk && <BulkDialog filters={filters} onClose={() => setBulk(false)} onDone={pages.reload} />}
    </>
  );
}
