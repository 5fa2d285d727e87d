// One entity: its links, candidates, neighbours and history.
import { useState } from "preact/hooks";
import { Evidence } from "../components/evidence.tsx";
import { EventList } from "../components/events.tsx";
import { FactTable } from "../components/facts.tsx";
import { Confidence, EntityLink, Heading, Iri, Label, Loading, Text } from "../components/basics.tsx";
import { LinkTable } from "../components/link_table.tsx";
import { useData, useTitle } from "../hooks.ts";
import { askAbout } from "../review.ts";
import { linkAddress, navigate, place } from "../router.ts";
import { situation } from "../session.ts";
import { useStore } from "../store.ts";
import { formatRelation } from "../text.ts";
import type { Entity, EntityDetails } from "../types.ts";

function Candidates({ details }: { details: EntityDetails }) {
  const { entity, candidates } = details;
  if (candidates.length === 0) return <p class="muted">No candidate was considered.</p>;
  return (
    <ul class="rivals">
      {candidates.map((candidate) => {
        const [left, right] = entity.side === "left" ? [entity, candidate.entity] : [candidate.entity, entity];
        return (
          <li key={candidate.entity.name}>
            <details>
              <summary>
                <Label entity={candidate.entity} /> <Confidence value={candidate.confidence} /> <span class="muted">{candidate.state}</span>
              </summary>
              <Evidence candidate={candidate} />
              <a href={linkAddress(left.name, right.name)}>this pair</a>
            </details>
          </li>
        );
      })}
    </ul>
  );
}

/** Ask the question about this entity now. */
function AskButton({ entity }: { entity: Entity }) {
  const { session } = useStore(situation);
  const [problem, setProblem] = useState("");
  if (!session?.can.decide) return null;
  const ask = () =>
    askAbout(entity).then(
      () => navigate("/"),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  return (
    <p>
      <button onClick={() => void ask()}>Review it</button> {problem && <span class="problem">{problem}</span>}
    </p>
  );
}

function Details({ details }: { details: EntityDetails }) {
  const { entity } = details;
  return (
    <>
      <p>
        <Iri entity={entity} /> <span class="muted">{entity.side}</span>
      </p>
      <AskButton entity={entity} />
      {details.links.length > 0 ? <LinkTable links={details.links} /> : <p>It has no link. {details.reason}</p>}
      <div class="cards-grid">
        <section class="card">
          <h2>Candidates</h2>
          {details.links.length > 0 && details.reason && <p>{details.reason}</p>}
          <Candidates details={details} />
        </section>
        <section class="card">
          <h2>Neighbours</h2>
          <ul class="neighbours">
            {details.neighbours.map((neighbour, index) => (
              <li key={index}>
                <span class="muted">
                  <Text text={formatRelation(neighbour.relation)} />
                </span>{" "}
                <EntityLink entity={neighbour.entity} />
                {neighbour.counterparts.map((other) => (
                  <span key={other.name}>
                    {" = "}
                    <EntityLink entity={other} />
                  </span>
                ))}
              </li>
            ))}
          </ul>
          {details.neighbour_count > details.neighbours.length && (
            <p class="muted small">and {details.neighbour_count - details.neighbours.length} more</p>
          )}
        </section>
        <section class={`card wide columns${details.comparison.columns.length}`}>
          <h2>Facts beside those of its candidates</h2>
          <div class="facts-head">
            <span class="muted">relation</span>
            {details.comparison.columns.map((column) => (
              <Label key={column.name} entity={column} />
            ))}
          </div>
          <FactTable comparison={details.comparison} />
        </section>
        <section class="card wide">
          <h2>History</h2>
          <EventList events={details.history} withPair />
        </section>
      </div>
    </>
  );
}

export function EntityView() {
  const { query } = useStore(place);
  const loaded = useData<EntityDetails>("/entity", { name: query.get("name"), side: query.get("side") });
  const entity = loaded.data?.entity;
  useTitle(entity?.label ?? "Entity");
  return (
    <>
      <Heading>{entity ? <Label entity={entity} /> : "Entity"}</Heading>
      <Loading loaded={loaded}>{(details) => <Details key={details.entity.name} details={details} />}</Loading>
    </>
  );
}
