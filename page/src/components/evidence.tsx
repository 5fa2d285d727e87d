// Why a pair has its confidence: contributions and matched neighbours.
import { useWidth } from "../hooks.ts";
import { settings } from "../settings.ts";
import { useStore } from "../store.ts";
import { formatRelation, formatSigned } from "../text.ts";
import type { Candidate, Contribution, EvidenceItem } from "../types.ts";
import { Text, ValueText } from "./basics.tsx";

const ROW = 26;
/** Widths of the names of groups; where there is little room they are smaller. */
const NAMES = 172;
const NARROW_NAMES = 142;
const NARROW = 360;
const NUMBERS = 56;

interface Bar {
  label: string;
  from: number;
  to: number;
  value: number;
}

/** Bars that begin where the one before ends. */
function layBars(contributions: Contribution[]): Bar[] {
  let sum = 0;
  return contributions.map(({ group, value }) => {
    const from = sum;
    sum += value;
    return { label: group, from, to: sum, value };
  });
}

/** Contributions from prior to confidence, which they add up to. */
export function Waterfall({ contributions }: { contributions: Contribution[] }) {
  const [attach, width] = useWidth(480);
  const bars = layBars(contributions);
  const total = bars.at(-1)?.to ?? 0;
  const ends = bars.map((bar) => bar.to);
  const low = Math.min(0, ...ends);
  const high = Math.max(1, ...ends);
  const isNarrow = width < NARROW;
  const names = isNarrow ? NARROW_NAMES : NAMES;
  const room = width - names - NUMBERS;
  const place = (value: number) => names + (room * (value - low)) / (high - low);
  const spoken = bars.map((bar) => `${bar.label} ${formatSigned(bar.value, 3)}`).join(", ");
  const confidence = total.toFixed(3);
  const all = [...bars, { label: "confidence", from: 0, to: total, value: total }];
  return (
    <div ref={attach} class="chart">
      <svg
        class={isNarrow ? "narrow" : ""}
        width={width}
        height={all.length * ROW}
        role="img"
        aria-label={`Contributions: ${spoken}; confidence ${confidence}`}
      >
        <line class="axis" x1={place(0)} x2={place(0)} y1={0} y2={all.length * ROW} />
        {all.map((bar, index) => {
          const isTotal = index === bars.length;
          const kind = isTotal ? "total" : bar.value < 0 ? "against" : "for";
          const left = place(Math.min(bar.from, bar.to));
          const y = index * ROW;
          return (
            <g key={bar.label}>
              <text x={0} y={y + 17}>
                {bar.label}
              </text>
              <rect class={kind} x={left} y={y + 5} width={Math.max(1, Math.abs(place(bar.to) - place(bar.from)))} height={ROW - 10} />
              {!isTotal && <line class="step" x1={place(bar.to)} x2={place(bar.to)} y1={y + ROW - 5} y2={y + ROW + 5} />}
              <text class="number" x={width} y={y + 17} text-anchor="end">
                {isTotal ? confidence : formatSigned(bar.value, 3)}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

function EvidenceLine({ item }: { item: EvidenceItem }) {
  const { showScores } = useStore(settings);
  return (
    <li>
      <span>
        <Text text={formatRelation(item.left_relation)} /> <ValueText value={item.left} />
      </span>
      <span class="joined">
        <span class="sign same" aria-label="matches" role="img">
          =
        </span>{" "}
        <Text text={formatRelation(item.right_relation)} /> <ValueText value={item.right} />
      </span>
      {showScores && (
        <span class="muted" title={`match ${item.confidence.toFixed(3)}`}>
          {formatSigned(item.weight)}
        </span>
      )}
    </li>
  );
}

export function Evidence({ candidate }: { candidate: Candidate }) {
  const { showScores } = useStore(settings);
  const more = candidate.evidence_count - candidate.evidence.length;
  return (
    <div class="evidence">
      {showScores && candidate.contributions.length > 0 && <Waterfall contributions={candidate.contributions} />}
      {candidate.evidence.length > 0 ? (
        <ul class="evidence-list">
          {candidate.evidence.map((item, index) => (
            <EvidenceLine item={item} key={index} />
          ))}
        </ul>
      ) : (
        <p class="muted">No matched neighbours or values.</p>
      )}
      {more > 0 && <p class="muted small">and {more} more</p>}
      {/* The reason names scores. */}
      {showScores && candidate.why_not && <p>Why not: {candidate.why_not}</p>}
    </div>
  );
}
