// The charts of the overview, drawn as SVG.
import { useWidth } from "../hooks.ts";
import { formatCount, formatShare } from "../text.ts";
import type { CalibrationBin, Overview, VersionSummary } from "../types.ts";

const HEIGHT = 180;
const MARGIN = { top: 10, right: 8, bottom: 24, left: 48 };
const INNER = HEIGHT - MARGIN.top - MARGIN.bottom;

/** A round number not below the given one, for the end of an axis. */
function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((end) => end >= value)!;
}

/** Lines and numbers of the vertical axis. */
function CountAxis({ high, width }: { high: number; width: number }) {
  return (
    <>
      {[0, 0.5, 1].map((share) => {
        const y = MARGIN.top + INNER * (1 - share);
        return (
          <g key={share}>
            <line class="grid" x1={MARGIN.left} x2={width - MARGIN.right} y1={y} y2={y} />
            <text class="number" x={MARGIN.left - 6} y={y + 4} text-anchor="end">
              {formatCount(Math.round(high * share * 10) / 10)}
            </text>
          </g>
        );
      })}
    </>
  );
}

interface Segment {
  kind: string;
  label: string;
  count: number;
}

interface Stack {
  label: string;
  segments: Segment[];
}

function StackedBars(props: { stacks: Stack[]; label: string; marker?: number; everyLabel: number }) {
  const [attach, width] = useWidth();
  const { stacks } = props;
  const sums = stacks.map((stack) => stack.segments.reduce((sum, segment) => sum + segment.count, 0));
  const high = roundUp(Math.max(...sums, 1));
  const room = width - MARGIN.left - MARGIN.right;
  const step = room / Math.max(1, stacks.length);
  const bar = Math.min(step * 0.86, 60);
  return (
    <div ref={attach} class="chart">
      <svg width={width} height={HEIGHT} role="img" aria-label={props.label}>
        <CountAxis high={high} width={width} />
        {stacks.map((stack, index) => {
          const x = MARGIN.left + step * index + (step - bar) / 2;
          let y = MARGIN.top + INNER;
          return (
            <g key={index}>
              <title>{[stack.label, ...stack.segments.map((part) => `${part.label} ${formatCount(part.count)}`)].join(", ")}</title>
              {stack.segments.map((segment) => {
                const height = (INNER * segment.count) / high;
                y -= height;
                return <rect key={segment.kind} class={`part ${segment.kind}`} x={x} y={y} width={bar} height={height} />;
              })}
              {index % props.everyLabel === 0 && (
                <text class="number" x={x + bar / 2} y={HEIGHT - 6} text-anchor="middle">
                  {stack.label}
                </text>
              )}
            </g>
          );
        })}
        {props.marker !== undefined && (
          <line class="marker" x1={MARGIN.left + room * props.marker} x2={MARGIN.left + room * props.marker} y1={MARGIN.top} y2={MARGIN.top + INNER} />
        )}
      </svg>
    </div>
  );
}

export function Legend({ items }: { items: [kind: string, label: string][] }) {
  return (
    <ul class="legend">
      {items.map(([kind, label]) => (
        <li key={kind}>
          <svg width={12} height={12} aria-hidden="true">
            <rect class={`part ${kind}`} width={12} height={12} rx={2} />
          </svg>{" "}
          {label}
        </li>
      ))}
    </ul>
  );
}

export function VersionChart({ versions }: { versions: VersionSummary[] }) {
  const stacks = versions.map(({ version, given, found }) => ({
    label: String(version),
    segments: [
      { kind: "given", label: "given", count: given },
      { kind: "found", label: "found", count: found },
    ],
  }));
  const last = versions.at(-1);
  const label = last ? `Links by version; version ${last.version} has ${last.given} given and ${last.found} found links` : "Links by version";
  return <StackedBars stacks={stacks} label={label} everyLabel={Math.ceil(versions.length / 12)} />;
}

export function Histogram({ bins, threshold }: { bins: Overview["histogram"]; threshold: number }) {
  const stacks = bins.map(({ start, found, proposed }) => ({
    label: start.toFixed(2),
    segments: [
      { kind: "found", label: "found", count: found },
      { kind: "proposed", label: "proposed", count: proposed },
    ],
  }));
  const found = bins.reduce((sum, bin) => sum + bin.found, 0);
  const label = `Histogram of confidence of ${formatCount(found)} found links`;
  return <StackedBars stacks={stacks} label={label} marker={threshold} everyLabel={4} />;
}

/** Share of correct links against mean confidence; on the diagonal confidence is a probability. */
export function CalibrationChart({ bins }: { bins: CalibrationBin[] }) {
  const [attach, width] = useWidth(320);
  const size = Math.min(width, 320);
  const inner = size - MARGIN.left - MARGIN.right;
  const x = (share: number) => MARGIN.left + inner * share;
  const y = (share: number) => MARGIN.top + inner * (1 - share);
  const dots = bins.filter((bin) => bin.count > 0 && bin.mean_confidence !== null && bin.correct !== null);
  const most = Math.max(...dots.map((bin) => bin.count), 1);
  return (
    <div ref={attach} class="chart">
      <svg width={size} height={inner + MARGIN.top + MARGIN.bottom + 12} role="img" aria-label="Share of correct links by confidence">
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line class="grid" x1={x(0)} x2={x(1)} y1={y(share)} y2={y(share)} />
            <text class="number" x={MARGIN.left - 6} y={y(share) + 4} text-anchor="end">
              {share}
            </text>
            <text class="number" x={x(share)} y={y(0) + 16} text-anchor="middle">
              {share}
            </text>
          </g>
        ))}
        <line class="diagonal" x1={x(0)} y1={y(0)} x2={x(1)} y2={y(1)} />
        {dots.map((bin) => (
          <circle key={bin.start} class="dot" cx={x(bin.mean_confidence!)} cy={y(bin.correct!)} r={3 + 6 * Math.sqrt(bin.count / most)}>
            <title>{`confidence ${bin.mean_confidence!.toFixed(2)}: ${formatShare(bin.correct!)} of ${bin.count} correct`}</title>
          </circle>
        ))}
        <text class="number" x={x(0.5)} y={y(0) + 32} text-anchor="middle">
          mean confidence
        </text>
      </svg>
    </div>
  );
}

/** Shares of a whole, as one bar. */
export function ShareBar({ parts, label }: { parts: Segment[]; label: string }) {
  const [attach, width] = useWidth(320);
  const sum = parts.reduce((total, part) => total + part.count, 0) || 1;
  let x = 0;
  return (
    <div ref={attach} class="chart">
      <svg width={width} height={18} role="img" aria-label={label}>
        {parts.map((part) => {
          const start = x;
          x += (width * part.count) / sum;
          return (
            <rect key={part.kind} class={`part ${part.kind}`} x={start} y={0} width={x - start} height={18}>
              <title>{`${part.label}: ${formatCount(part.count)}`}</title>
            </rect>
          );
        })}
      </svg>
    </div>
  );
}
