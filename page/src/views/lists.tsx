// Unmatched entities, corrections, relations and what people did.
import { EventList } from "../components/events.tsx";
import { EntityLink, Heading, Iri, Loading, More, Problem, Text, ValueText } from "../components/basics.tsx";
import { ReviewerTable } from "../components/reviewers.tsx";
import { useData, usePages, useTitle } from "../hooks.ts";
import { writeQuery } from "../api.ts";
import { changeQuery, linkAddress, place } from "../router.ts";
import { useStore } from "../store.ts";
import { formatCount, formatTime } from "../text.ts";
import type { Activity, Decision, Entity, LinkEvent, RelationDetails, RelationPair, VersionSummary } from "../types.ts";

function Tabs({ name, value, options, label }: { name: string; value: string; options: [string, string][]; label: string }) {
  return (
    <div class="row" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button key={option} aria-pressed={option === value} onClick={() => changeQuery({ [name]: option }, false)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function UnmatchedView() {
  useTitle("Unmatched");
  const { query } = useStore(place);
  const side = query.get("side") ?? "left";
  type Page = { entities: Entity[]; count: number | null; next: string | null };
  const pages = usePages<Entity, Page>("/unmatched", { side }, (page) => page.entities);
  return (
    <>
      <Heading>Unmatched</Heading>
      <Tabs name="side" value={side} label="Graph" options={[["left", "Left"], ["right", "Right"]]} />
      {pages.error && <Problem text={pages.error} retry={pages.reload} />}
      {pages.first && <p role="status">{formatCount(pages.first.count)} entities without a link</p>}
      <ul class="plain-list">
        {pages.items.map((entity) => (
          <li key={entity.name}>
            <EntityLink entity={entity} /> <Iri entity={entity} />
          </li>
        ))}
      </ul>
      <More more={pages.more} />
    </>
  );
}

export function CorrectionsView() {
  useTitle("Corrections");
  const { query } = useStore(place);
  const [version, kind] = [query.get("version"), query.get("kind") ?? ""];
  const versions = useData<{ versions: VersionSummary[] }>("/versions");
  type Page = { of: number; events: LinkEvent[]; counts: Record<string, number>; next: string | null };
  const pages = usePages<LinkEvent, Page>("/corrections", { version, kind }, (page) => page.events);
  const numbers = (versions.data?.versions ?? []).map((report) => report.version).reverse();
  return (
    <>
      <Heading>Corrections</Heading>
      <p>What an update revised or retracted, and why.</p>
      <div class="filters">
        <label>
          Version
          <select value={String(version ?? pages.first?.of ?? "")} onChange={(event) => changeQuery({ version: event.currentTarget.value }, false)}>
            {numbers.map((number) => (
              <option key={number} value={String(number)}>
                {number}
              </option>
            ))}
          </select>
        </label>
        <Tabs name="kind" value={kind} label="Kind" options={[["", "Both"], ["revised", "Revised"], ["retracted", "Retracted"]]} />
      </div>
      {pages.error && <Problem text={pages.error} retry={pages.reload} />}
      {pages.first && (
        <p role="status">
          Version {pages.first.of}: {formatCount(pages.first.counts.revised ?? 0)} revised, {formatCount(pages.first.counts.retracted ?? 0)} retracted
        </p>
      )}
      {pages.first && <EventList events={pages.items} withPair />}
      <More more={pages.more} />
    </>
  );
}

function relationAddress(pair: RelationPair): string {
  return `/relations${writeQuery({ left: pair.left.name, right: pair.right.name, inverse: pair.inverse })}`;
}

function RelationExamples() {
  const { query } = useStore(place);
  const [left, right, inverse] = [query.get("left"), query.get("right"), query.get("inverse")];
  const loaded = useData<RelationDetails>("/relation", { left, right, inverse, limit: 20 });
  return (
    <section class="card" aria-label="Examples">
      <Loading loaded={loaded}>
        {({ relation, examples }) => (
          <>
            <h2>
              <Text text={relation.left.label} /> – <Text text={relation.right.label} />
              {relation.inverse && " (inverse)"}
            </h2>
            {examples.length === 0 && <p class="muted">No linked entities have both.</p>}
            <ul class="plain-list">
              {examples.map((example, index) => (
                <li key={index}>
                  <a href={linkAddress(example.link.left.name, example.link.right.name)}>
                    <Text text={example.link.left.label} lang={example.link.left.lang} /> –{" "}
                    <Text text={example.link.right.label} lang={example.link.right.lang} />
                  </a>
                  : <ValueText value={example.left} />{" "}
                  <span class={`sign ${example.same ? "same" : "different"}`} role="img" aria-label={example.same ? "same" : "different"}>
                    {example.same ? "=" : "≠"}
                  </span>{" "}
                  <ValueText value={example.right} />
                </li>
              ))}
            </ul>
            <p>
              <a href="/relations">All relations</a>
            </p>
          </>
        )}
      </Loading>
    </section>
  );
}

export function RelationsView() {
  useTitle("Relations");
  const { query } = useStore(place);
  const loaded = useData<{ relations: RelationPair[] }>("/relations", { min_inclusion: query.get("min_inclusion") ?? 0.1 });
  return (
    <>
      <Heading>Relations</Heading>
      {query.get("left") && <RelationExamples />}
      <Loading loaded={loaded}>
        {({ relations }) => (
          <table class="list">
            <thead>
              <tr>
                <th scope="col">left</th>
                <th scope="col">right</th>
                <th scope="col">left in right</th>
                <th scope="col">right in left</th>
                <th scope="col">support</th>
              </tr>
            </thead>
            <tbody>
              {relations.map((pair) => (
                <tr key={`${pair.left.name} ${pair.right.name} ${pair.inverse}`}>
                  <td>
                    <a href={relationAddress(pair)}>
                      <Text text={pair.left.label} />
                    </a>
                  </td>
                  <td>
                    <Text text={pair.right.label} />
                    {pair.inverse && <span class="muted"> (inverse)</span>}
                    {pair.attribute && <span class="muted"> (attribute)</span>}
                  </td>
                  <td class="number" data-label="⊆">
                    {pair.left_in_right.toFixed(2)}
                  </td>
                  <td class="number" data-label="⊇">
                    {pair.right_in_left.toFixed(2)}
                  </td>
                  <td class="number" data-label="support">
                    {pair.support.toFixed(1)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loading>
    </>
  );
}

function DecisionLine({ decision }: { decision: Decision }) {
  const { left, right } = decision;
  return (
    <li>
      <span class={`state ${decision.kind.replaceAll(" ", "-")}`}>{decision.kind}</span> {left && <EntityLink entity={left} />}
      {left && right && " – "}
      {right && <EntityLink entity={right} />}{" "}
      <span class="muted">
        <a href={`/activity?author=${encodeURIComponent(decision.author)}`}>
          <bdi>{decision.author || "without a name"}</bdi>
        </a>
        , {formatTime(decision.decided_at)}, saw version {decision.seen_version}
        {decision.waiting && ", waiting for the next version"}
      </span>
      {decision.comment && <blockquote dir="auto">{decision.comment}</blockquote>}
    </li>
  );
}

export function ActivityView() {
  useTitle("Activity");
  const { query } = useStore(place);
  const author = query.get("author");
  const pages = usePages<Decision, Activity>("/activity", { author }, (page) => page.recorded);
  const disagreements = pages.first?.disagreements ?? [];
  return (
    <>
      <Heading>Activity</Heading>
      {pages.error && <Problem text={pages.error} retry={pages.reload} />}
      {author && (
        <p>
          Only answers of <bdi>{author}</bdi>. <a href="/activity">All answers</a>
        </p>
      )}
      {disagreements.length > 0 && (
        <section class="card">
          <h2>Disagreements</h2>
          {disagreements.map(({ left, right, decisions }, index) => (
            <div key={index}>
              <h3>
                {left && <EntityLink entity={left} />}
                {left && right && " – "}
                {right && <EntityLink entity={right} />}
                {left && right && (
                  <>
                    {" "}
                    <a class="small" href={linkAddress(left.name, right.name)}>
                      look at it
                    </a>
                  </>
                )}
              </h3>
              <ul class="events">
                {decisions.map((decision) => (
                  <DecisionLine key={decision.number} decision={decision} />
                ))}
              </ul>
            </div>
          ))}
        </section>
      )}
      {pages.first && <ReviewerTable reviewers={pages.first.reviewers} />}
      <h2>Answers</h2>
      {pages.first && pages.items.length === 0 && <p class="muted">Nobody has answered yet.</p>}
      <ul class="events">
        {pages.items.map((decision) => (
          <DecisionLine key={decision.number} decision={decision} />
        ))}
      </ul>
      <More more={pages.more} />
    </>
  );
}
