// One pair: both entities, why it has its confidence, why not others, what happened to it.
import { Evidence } from "../components/evidence.tsx";
import { EventList } from "../components/events.tsx";
import { FactTable } from "../components/facts.tsx";
import { Confidence, EntityLink, Heading, Iri, Label, Loading, State } from "../components/basics.tsx";
import { Neighbourhood } from "../components/neighbourhood.tsx";
import { PairButtons } from "../components/decide.tsx";
import { useData, useTitle } from "../hooks.ts";
import { linkAddress, place } from "../router.ts";
import { settings } from "../settings.ts";
import { useStore } from "../store.ts";
import type { Candidate, Entity, LinkDetails } from "../types.ts";

function Rivals({ rivals, of }: { rivals: Candidate[]; of: Entity }) {
  const { showScores } = useStore(settings);
  return (
    <>
      <h3>
        Other candidates of <Label entity={of} />
      </h3>
      {rivals.length === 0 && <p class="muted">No other candidate was considered.</p>}
      <ul class="rivals">
        {rivals.map((rival) => {
          const [left, right] = of.side === "left" ? [of, rival.entity] : [rival.entity, of];
          return (
            <li key={rival.entity.name}>
              <details>
                <summary>
                  <Label entity={rival.entity} /> <Confidence value={rival.confidence} />{" "}
                  <span class="muted">{(showScores && rival.why_not) || rival.state}</span>
                </summary>
                <Evidence candidate={{ ...rival, why_not: "" }} />
                <a href={linkAddress(left.name, right.name)}>this pair</a>
              </details>
            </li>
          );
        })}
      </ul>
    </>
  );
}

function Details({ details }: { details: LinkDetails }) {
  const { link, candidate } = details;
  return (
    <>
      <div class="pair">
        {[link.left, link.right].map((entity) => (
          <div key={entity.side}>
            <span class="muted small">{entity.side}</span>
            <p class="big">
              <EntityLink entity={entity} />
            </p>
            <Iri entity={entity} />
          </div>
        ))}
      </div>
      <p>
        <State state={link.state} waiting={link.waiting} /> <Confidence value={link.confidence} />{" "}
        {link.since !== null && <span class="muted">since version {link.since}</span>}
      </p>
      <PairButtons left={link.left} right={link.right} />
      <div class="cards-grid">
        <section class="card">
          <h2>Evidence</h2>
          {candidate ? <Evidence candidate={candidate} /> : <p class="muted">The method did not consider this pair.</p>}
        </section>
        <section class="card">
          <h2>Why not another?</h2>
          <Rivals rivals={details.rivals.left} of={link.left} />
          <Rivals rivals={details.rivals.right} of={link.right} />
        </section>
        <section class="card wide">
          <h2>Neighbours</h2>
          <Neighbourhood neighbours={details.neighbours} />
        </section>
        <section class="card wide two">
          <h2>Facts</h2>
          <FactTable comparison={details.comparison} />
        </section>
        <section class="card wide">
          <h2>History</h2>
          <EventList events={details.history} />
        </section>
      </div>
    </>
  );
}

export function LinkView() {
  const { query } = useStore(place);
  const loaded = useData<LinkDetails>("/link", { left: query.get("left"), right: query.get("right") });
  const link = loaded.data?.link;
  useTitle(link ? `${link.left.label} – ${link.right.label}` : "Link");
  return (
    <>
      <Heading>
        {link ? (
          <>
            <Label entity={link.left} /> – <Label entity={link.right} />
          </>
        ) : (
          "Link"
        )}
      </Heading>
      <Loading loaded={loaded}>{(details) => <Details key={details.link.left.name + details.link.right.name} details={details} />}</Loading>
    </>
  );
}
