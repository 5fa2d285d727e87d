// The neighbours of both ends of a link, side by side; lines join those that are matched.
import { useWidth } from "../hooks.ts";
import { entityAddress } from "../router.ts";
import { formatLabel, formatRelation, guessLanguage, shorten } from "../text.ts";
import type { LinkDetails, Neighbour } from "../types.ts";

const ROW = 38;
const ROWS = 14;

interface Placed {
  index: number;
  row: number;
}

/** Rows of both columns: joined neighbours at the same height where possible, then the others. */
function placeRows(neighbours: LinkDetails["neighbours"]): { left: Placed[]; right: Placed[] } {
  const left = new Map<number, number>();
  const right = new Map<number, number>();
  for (const [from, to] of neighbours.pairs) {
    if (!left.has(from) && !right.has(to)) {
      const row = Math.max(left.size, right.size);
      left.set(from, row);
      right.set(to, row);
    }
  }
  const fill = (rows: Map<number, number>, count: number) => {
    let row = rows.size;
    for (let index = 0; index < count; index++) if (!rows.has(index)) rows.set(index, row++);
    return [...rows].map(([index, at]) => ({ index, row: at })).filter((placed) => placed.row < ROWS);
  };
  return { left: fill(left, neighbours.left.length), right: fill(right, neighbours.right.length) };
}

function Column(props: { placed: Placed[]; neighbours: Neighbour[]; x: number; width: number; joined: Set<number> }) {
  const characters = Math.max(8, Math.floor(props.width / 8.2));
  return (
    <>
      {props.placed.map(({ index, row }) => {
        const { entity, relation } = props.neighbours[index]!;
        const y = row * ROW;
        return (
          <a href={entityAddress(entity)} key={index}>
            <title>{`${formatRelation(relation)}: ${entity.label}`}</title>
            <rect class={props.joined.has(index) ? "node joined" : "node"} x={props.x} y={y + 2} width={props.width} height={ROW - 6} rx={5} />
            <text class="relation" x={props.x + 8} y={y + 14}>
              {shorten(formatRelation(relation), Math.floor(characters * 1.15))}
            </text>
            <text x={props.x + 8} y={y + 28} lang={entity.lang ?? guessLanguage(entity.label)}>
              {/* A right-to-left label stays in its box: the marks isolate it. */}
              {`\u2068${shorten(formatLabel(entity.label, entity.name), characters)}\u2069`}
            </text>
          </a>
        );
      })}
    </>
  );
}

export function Neighbourhood({ neighbours }: { neighbours: LinkDetails["neighbours"] }) {
  const [attach, width] = useWidth();
  const { left, right } = placeRows(neighbours);
  const column = Math.min(320, Math.floor(width * 0.41));
  const rightX = width - column;
  const rows = Math.max(left.length, right.length);
  const rowOf = (placed: Placed[], index: number) => placed.find((item) => item.index === index)?.row;
  const lines = neighbours.pairs.flatMap(([from, to, confidence]) => {
    const start = rowOf(left, from);
    const end = rowOf(right, to);
    return start === undefined || end === undefined ? [] : [{ start, end, confidence, key: `${from} ${to}` }];
  });
  if (rows === 0) return <p class="muted">No neighbours.</p>;
  const hidden = neighbours.left.length + neighbours.right.length - left.length - right.length;
  return (
    <div ref={attach} class="chart">
      <svg
        class="neighbourhood"
        width={width}
        height={rows * ROW}
        role="group"
        aria-label={`${neighbours.left.length} left and ${neighbours.right.length} right neighbours, ${neighbours.pairs.length} pairs matched`}
      >
        {lines.map(({ start, end, confidence, key }) => (
          <line
            key={key}
            class="join"
            x1={column}
            x2={rightX}
            y1={start * ROW + ROW / 2 - 1}
            y2={end * ROW + ROW / 2 - 1}
            stroke-width={1 + 2 * confidence}
          />
        ))}
        <Column placed={left} neighbours={neighbours.left} x={0} width={column} joined={new Set(neighbours.pairs.map(([from]) => from))} />
        <Column placed={right} neighbours={neighbours.right} x={rightX} width={column} joined={new Set(neighbours.pairs.map(([, to]) => to))} />
      </svg>
      {hidden > 0 && <p class="muted small">{hidden} more neighbours are not drawn.</p>}
    </div>
  );
}
