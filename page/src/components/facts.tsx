// The facts of an entity beside those of its candidates, aligned by learned relation.
import { useState } from "preact/hooks";
import { formatRelation } from "../text.ts";
import type { Agreement, Comparison, ComparisonRow, Value } from "../types.ts";
import { Label, Text, ValueText } from "./basics.tsx";

const SIGNS: Partial<Record<string, string>> = { same: "=", similar: "≈", different: "≠" };
/** How many rows and values are shown at first. */
const ROWS = 12;
const VALUES = 3;

function Values({ values }: { values: Value[] }) {
  const [all, setAll] = useState(false);
  const shown = all || values.length <= VALUES + 1 ? values : values.slice(0, VALUES);
  return (
    <>
      {shown.map((value, index) => (
        <span class={value.matched ? "value matched" : "value"} key={index}>
          <ValueText value={value} />
        </span>
      ))}
      {shown.length < values.length && (
        <button class="plain small" onClick={() => setAll(true)}>
          {values.length - shown.length} more
        </button>
      )}
    </>
  );
}

function Cell({ values, agreement, selected }: { values: Value[]; agreement: Agreement; selected: string }) {
  const sign = SIGNS[agreement ?? ""];
  if (values.length === 0) return <td class={`empty ${selected}`}>–</td>;
  return (
    <td class={`${sign ? agreement : ""} ${selected}`}>
      {sign && (
        <span class="sign" role="img" aria-label={agreement!} title={agreement!}>
          {sign}
        </span>
      )}
      <Values values={values} />
    </td>
  );
}

function RelationNames({ row }: { row: ComparisonRow }) {
  // One name is enough where both graphs use the same.
  const labels = [...new Set(row.relations.map(formatRelation))];
  return (
    <th scope="row">
      {labels.map((label) => (
        <span class="value" key={label}>
          <Text text={label} />
        </span>
      ))}
    </th>
  );
}

/** @param selected The candidate that is shown where there is room for one only (from 1). */
export function FactTable({ comparison, selected = 1 }: { comparison: Comparison; selected?: number }) {
  const [all, setAll] = useState(false);
  const { columns, rows } = comparison;
  const shown = all ? rows : rows.slice(0, ROWS);
  if (rows.length === 0) return <p class="muted">No facts but the names.</p>;
  return (
    <>
      <table class="facts">
        <caption class="hidden">Facts, aligned by learned relation</caption>
        <colgroup>
          <col class="names" />
          {columns.map((column, at) => (
            <col key={column.side + column.name} class={at === 0 || at === selected ? "" : "aside"} />
          ))}
        </colgroup>
        <thead class="hidden">
          <tr>
            <th scope="col">relation</th>
            {columns.map((column) => (
              <th scope="col" key={column.side + column.name}>
                <Label entity={column} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, index) => (
            <tr key={index}>
              <RelationNames row={row} />
              {columns.map((column, at) => (
                <Cell
                  key={column.side + column.name}
                  values={row.cells[at] ?? []}
                  agreement={row.agreement[at] ?? null}
                  selected={at === 0 || at === selected ? "" : "aside"}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <button class="small" onClick={() => setAll(true)}>
          All {rows.length} relations
        </button>
      )}
    </>
  );
}
