import { linkAddress } from "../router.ts";
import type { Link } from "../types.ts";
import { Confidence, EntityLink, State } from "./basics.tsx";

export function LinkTable({ links }: { links: Link[] }) {
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">left</th>
          <th scope="col">right</th>
          <th scope="col">state</th>
          <th scope="col">since</th>
          <th scope="col">confidence</th>
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <tr key={`${link.left.name} ${link.right.name}`}>
            <td>
              <EntityLink entity={link.left} />
            </td>
            <td>
              <EntityLink entity={link.right} />
            </td>
            <td>
              <State state={link.state} waiting={link.waiting} />
            </td>
            <td class="muted nowrap">{link.since === null ? "–" : `version ${link.since}`}</td>
            <td class="number">
              <Confidence value={link.confidence} />{" "}
              <a href={linkAddress(link.left.name, link.right.name)} aria-label={`Why ${link.left.label} – ${link.right.label}`}>
                why
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
