import { formatCount, formatTime } from "../text.ts";
import type { Reviewer } from "../types.ts";

const COLUMNS = [
  ["answers", "answers"],
  ["same", "same"],
  ["different", "different"],
  ["no_counterpart", "no counterpart"],
  ["not_sure", "not sure"],
  ["withdrawn", "withdrawn"],
] as const;

export function ReviewerTable({ reviewers }: { reviewers: Reviewer[] }) {
  if (reviewers.length === 0) return <p class="muted">Nobody has answered yet.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Answers by reviewer">
      <table class="list numbers">
        <thead>
          <tr>
            <th scope="col">reviewer</th>
            {COLUMNS.map(([name, label]) => (
              <th scope="col" key={name}>
                {label}
              </th>
            ))}
            <th scope="col">last</th>
          </tr>
        </thead>
        <tbody>
          {reviewers.map((reviewer) => (
            <tr key={reviewer.author}>
              <th scope="row">
                <a href={`/activity?author=${encodeURIComponent(reviewer.author)}`}>
                  <bdi>{reviewer.author || "without a name"}</bdi>
                </a>
              </th>
              {COLUMNS.map(([name]) => (
                <td key={name}>{formatCount(reviewer[name])}</td>
              ))}
              <td>{formatTime(reviewer.last)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
