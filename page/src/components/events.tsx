// What happened to links, as a list.
import { linkAddress } from "../router.ts";
import { formatTime } from "../text.ts";
import type { LinkEvent } from "../types.ts";
import { Confidence, EntityLink } from "./basics.tsx";

export function EventList({ events, withPair = false }: { events: LinkEvent[]; withPair?: boolean }) {
  if (events.length === 0) return <p class="muted">Nothing yet.</p>;
  return (
    <ol class="events">
      {events.map((event, index) => (
        <li key={index}>
          <span class={`state ${event.kind.replaceAll(" ", "-")}`}>{event.kind}</span>{" "}
          {event.left && event.right && (
            <>
              {withPair && (
                <>
                  <EntityLink entity={event.left} /> – <EntityLink entity={event.right} />{" "}
                </>
              )}
              <Confidence value={event.confidence} />{" "}
            </>
          )}
          <span class="muted">
            {event.version === null ? "waiting for the next version" : `version ${event.version}`}
            {event.author && `, ${event.author}`}
            {event.decided_at && `, ${formatTime(event.decided_at)}`}
          </span>
          {event.reason && <div>{event.reason}</div>}
          {event.comment && <blockquote dir="auto">{event.comment}</blockquote>}
          {withPair && event.left && event.right && (
            <a class="small" href={linkAddress(event.left.name, event.right.name)}>
              why
            </a>
          )}
        </li>
      ))}
    </ol>
  );
}
