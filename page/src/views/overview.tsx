// How many links there are, how sure they are, and what happened last.
import { useState } from "preact/hooks";
import { CalibrationChart, Histogram, Legend, ShareBar, VersionChart } from "../components/charts.tsx";
import { Heading, Loading } from "../components/basics.tsx";
import { ReviewerTable } from "../components/reviewers.tsx";
import { useData, useTitle } from "../hooks.ts";
import { formatCount, formatPlural, formatShare, formatTime } from "../text.ts";
import type { Overview, SideCounts } from "../types.ts";

function Counts({ counts }: { counts: Overview["counts"] }) {
  const states = ["given", "found", "proposed", "rejected", "waiting"] as const;
  return (
    <dl class="counts">
      {states.map((state) => (
        <div key={state}>
          <dt>{state}</dt>
          <dd>{state === "waiting" ? formatCount(counts[state]) : <a href={`/links?state=${state}`}>{formatCount(counts[state])}</a>}</dd>
        </div>
      ))}
    </dl>
  );
}

function ConfidenceSection({ overview }: { overview: Overview }) {
  const [threshold, setThreshold] = useState(overview.threshold ?? 0.5);
  const row = overview.thresholds[Math.round(threshold * (overview.thresholds.length - 1))];
  return (
    <section class="card wide">
      <h2>Confidence</h2>
      <Histogram bins={overview.histogram} threshold={threshold} />
      <Legend items={[["found", "found"], ["proposed", "proposed"]]} />
      <label class="slider">
        Threshold {threshold.toFixed(2)}
        <input
          type="range"
          min={0}
          max={1}
          step={0.01}
          value={threshold}
          onInput={(event) => setThreshold(Number(event.currentTarget.value))}
        />
      </label>
      {row ? (
        <dl class="counts" aria-live="polite">
          <div>
            <dt>links</dt>
            <dd>
              <a href={`/links?min_confidence=${threshold}`}>{formatCount(row.links)}</a>
            </dd>
          </div>
          <div>
            <dt>expected precision</dt>
            <dd>{formatShare(row.precision)}</dd>
          </div>
          <div>
            <dt>expected recall</dt>
            <dd>{formatShare(row.recall)}</dd>
          </div>
        </dl>
      ) : (
        <p class="muted">Scores of this alignment are not probabilities: precision and recall cannot be told.</p>
      )}
      {row && <p class="muted small">Recall is relative to the links that are expected among all candidates.</p>}
    </section>
  );
}

function Dangling({ side, counts }: { side: "left" | "right"; counts: SideCounts }) {
  const open = Math.max(0, counts.unlinked - counts.no_counterpart);
  const parts = [
    { kind: "found", label: "linked", count: counts.linked },
    { kind: "given", label: "decided: no counterpart", count: counts.no_counterpart },
    { kind: "proposed", label: "unmatched", count: open },
  ];
  return (
    <>
      <h3>
        {side}: {formatCount(counts.entities)} entities
      </h3>
      <ShareBar parts={parts} label={parts.map((part) => `${part.label} ${part.count}`).join(", ")} />
      <p class="small">
        {formatCount(counts.linked)} linked, <a href={`/unmatched?side=${side}`}>{formatCount(counts.unlinked)} unmatched</a>
        {counts.no_counterpart > 0 && `, of these ${formatCount(counts.no_counterpart)} by decision`}
      </p>
    </>
  );
}

const CHANGES: [field: string, thing: string, change: string][] = [
  ["added", "link", "added"],
  ["revised", "link", "revised"],
  ["retracted", "link", "retracted"],
  ["confirmed", "link", "confirmed"],
  ["rejected", "pair", "rejected"],
  ["withdrawn", "decision", "withdrawn"],
  ["left_added_triples", "left triple", "added"],
  ["right_added_triples", "right triple", "added"],
  ["left_removed_triples", "left triple", "removed"],
  ["right_removed_triples", "right triple", "removed"],
];

function LastUpdate({ update }: { update: NonNullable<Overview["last_update"]> }) {
  const changes = CHANGES.filter(([name]) => Number(update[name] ?? 0) > 0);
  return (
    <>
      <p class="muted">
        Version {String(update.version)}, {formatTime(String(update.made_at ?? ""))}
        {update.source ? `, ${String(update.source)}` : ""}
      </p>
      <ul>
        {changes.map(([name, thing, change]) => (
          <li key={name}>
            {formatPlural(Number(update[name]), thing)} {change}
          </li>
        ))}
      </ul>
      {changes.length === 0 && <p>Nothing changed.</p>}
      <p>
        <a href={`/corrections?version=${String(update.version)}`}>Corrections</a>
      </p>
    </>
  );
}

export function OverviewView() {
  useTitle("Overview");
  const loaded = useData<Overview>("/overview");
  return (
    <>
      <Heading>Overview</Heading>
      <Loading loaded={loaded}>
        {(overview) => (
          <>
            <Counts counts={overview.counts} />
            <div class="cards-grid">
              <section class="card">
                <h2>Links by version</h2>
                <VersionChart versions={overview.versions} />
                <Legend items={[["given", "given"], ["found", "found"]]} />
              </section>
              <section class="card">
                <h2>Entities</h2>
                <Dangling side="left" counts={overview.dangling.left} />
                <Dangling side="right" counts={overview.dangling.right} />
              </section>
              <ConfidenceSection overview={overview} />
              <section class="card">
                <h2>Last update</h2>
                {overview.last_update ? <LastUpdate update={overview.last_update} /> : <p class="muted">None yet.</p>}
              </section>
              <section class="card">
                <h2>Calibration</h2>
                {overview.calibration ? (
                  <>
                    <CalibrationChart bins={overview.calibration.bins} />
                    <p class="muted small">
                      From {formatCount(overview.calibration.count)} decisions of people. They chose what to look at: doubtful links count more than they
                      should.
                    </p>
                  </>
                ) : (
                  <p class="muted">It is shown when enough found links have been judged.</p>
                )}
              </section>
              <section class="card wide">
                <h2>Answers by reviewer</h2>
                <ReviewerTable reviewers={overview.reviewers} />
              </section>
            </div>
          </>
        )}
      </Loading>
    </>
  );
}
