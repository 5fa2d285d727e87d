// Answers about one pair, outside of the questions.
import { useState } from "preact/hooks";
import { announce } from "../announce.ts";
import { currentAuthor, outbox } from "../review.ts";
import { situation } from "../session.ts";
import { makeKey } from "../storage.ts";
import { useStore } from "../store.ts";
import type { Entity } from "../types.ts";

const WORDS = { same: "the same", different: "different" } as const;

export function PairButtons({ left, right }: { left: Entity; right: Entity }) {
  const { session, shown } = useStore(situation);
  const [given, setGiven] = useState<{ kind: keyof typeof WORDS; key: string } | null>(null);
  if (!session?.can.decide) return null;
  const decide = (kind: keyof typeof WORDS) => {
    if (given) outbox.withdraw(given.key, currentAuthor());
    const key = makeKey();
    outbox.decide({ key, kind, left: left.name, right: right.name, seen_version: shown, comment: "" }, currentAuthor());
    setGiven({ kind, key });
    announce(`${left.label} and ${right.label}: ${WORDS[kind]}`);
  };
  const undo = () => {
    outbox.withdraw(given!.key, currentAuthor());
    setGiven(null);
    announce("Taken back.");
  };
  return (
    <div class="row">
      {(Object.keys(WORDS) as (keyof typeof WORDS)[]).map((kind) => (
        <button key={kind} aria-pressed={given?.kind === kind} onClick={() => decide(kind)}>
          {kind === "same" ? "Same" : "Different"}
        </button>
      ))}
      {given && <button onClick={undo}>Undo</button>}
      {given && <span class="muted">counts in the next version</span>}
    </div>
  );
}
