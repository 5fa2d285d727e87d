// Accept many links at once, after a sample of them was looked at.
import { useEffect, useState } from "preact/hooks";
import { announce } from "../announce.ts";
import { ApiError, get, post, type Parameters } from "../api.ts";
import { currentAuthor } from "../review.ts";
import { situation } from "../session.ts";
import { linkAddress } from "../router.ts";
import { makeKey } from "../storage.ts";
import { formatCount, formatShare } from "../text.ts";
import type { DecisionOutcome, DecisionRequest, Link } from "../types.ts";
import { Confidence, Label, Problem } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";

/** Links to look at before the others can be accepted: with none of 20 wrong, the share of wrong
 * ones is below 14% with a probability of 95%. */
const SAMPLE = 20;
/** The most links that are accepted at once. */
const MOST = 2000;
const PAGE = 200;
/** The most decisions that the service takes in one request. */
const SENT = 100;

type Judgement = "same" | "different";

async function readLinks(filters: Parameters): Promise<Link[]> {
  const links: Link[] = [];
  let after: string | null = null;
  do {
    const page: { links: Link[]; next: string | null } = await get("/links", { ...filters, after, limit: PAGE });
    links.push(...page.links);
    after = page.next;
  } while (after !== null && links.length < MOST);
  // Given links need no acceptance.
  return links.filter((link) => link.state !== "given" && !link.waiting).slice(0, MOST);
}

function drawSample(links: Link[]): Link[] {
  const pool = [...links];
  for (let index = pool.length - 1; index > 0; index--) {
    const other = Math.floor(Math.random() * (index + 1));
    [pool[index], pool[other]] = [pool[other]!, pool[index]!];
  }
  return pool.slice(0, SAMPLE);
}

function makeDecision(link: Link, kind: Judgement, comment: string): DecisionRequest {
  const seen_version = situation.value.shown;
  return { key: makeKey(), kind, left: link.left.name, right: link.right.name, seen_version, comment };
}

function SampleLine(props: { link: Link; judgement: Judgement | undefined; onJudge: (judgement: Judgement) => void }) {
  const { link, judgement, onJudge } = props;
  return (
    <li>
      <span class="grow">
        <Label entity={link.left} /> – <Label entity={link.right} /> <Confidence value={link.confidence} />{" "}
        <a href={linkAddress(link.left.name, link.right.name)} target="_blank" rel="noopener noreferrer">
          why
        </a>
      </span>
      <span class="row">
        <button class="small" aria-pressed={judgement === "same"} onClick={() => onJudge("same")}>
          Right
        </button>
        <button class="small" aria-pressed={judgement === "different"} onClick={() => onJudge("different")}>
          Wrong
        </button>
      </span>
    </li>
  );
}

export function BulkDialog({ filters, onClose, onDone }: { filters: Parameters; onClose: () => void; onDone: () => void }) {
  const [links, setLinks] = useState<Link[] | null>(null);
  const [sample, setSample] = useState<Link[]>([]);
  const [judged, setJudged] = useState<Map<Link, Judgement>>(new Map());
  const [problem, setProblem] = useState("");
  const [sent, setSent] = useState<number | null>(null);
  useEffect(() => {
    readLinks(filters).then(
      (read) => {
        setLinks(read);
        setSample(drawSample(read));
      },
      (error: unknown) => setProblem(error instanceof ApiError ? error.message : String(error)),
    );
  }, []);
  const wrong = [...judged.values()].filter((judgement) => judgement === "different").length;
  const isComplete = sample.length > 0 && judged.size === sample.length;
  const accept = async () => {
    const author = currentAuthor();
    const comment = `accepted with ${links!.length} links after a sample of ${sample.length}, ${wrong} of them wrong`;
    const decisions = links!.map((link) => makeDecision(link, judged.get(link) ?? "same", comment));
    let refused = 0;
    try {
      for (let start = 0; start < decisions.length; start += SENT) {
        setSent(start);
        const part = decisions.slice(start, start + SENT);
        const { results } = await post<{ results: DecisionOutcome[] }>("/decisions", { decisions: part, author });
        refused += results.filter((result) => result.status === "refused").length;
      }
      announce(`${formatCount(decisions.length - refused)} answers recorded${refused ? `, ${refused} refused` : ""}.`);
      onDone();
      onClose();
    } catch (error) {
      setSent(null);
      setProblem(error instanceof ApiError ? error.message : String(error));
    }
  };
  return (
    <Dialog title="Accept many links" onClose={onClose} wide>
      {problem && <Problem text={problem} />}
      {!links && !problem && <p>Reading the links …</p>}
      {links?.length === 0 && <p>There is nothing to accept.</p>}
      {links && links.length > 0 && (
        <>
          <p>
            {formatCount(links.length)} links{links.length === MOST && " (the first; accept the others after these)"}. Look at {sample.length} of them,
            drawn at random, before all are accepted.
          </p>
          <ol class="sample">
            {sample.map((link) => (
              <SampleLine
                key={link.left.name + link.right.name}
                link={link}
                judgement={judged.get(link)}
                onJudge={(judgement) => setJudged(new Map(judged).set(link, judgement))}
              />
            ))}
          </ol>
          <p role="status">
            {judged.size} of {sample.length} looked at
            {wrong > 0 && `, ${formatShare(wrong / judged.size)} wrong: expect about ${Math.round((wrong / judged.size) * links.length)} wrong links`}
          </p>
          <p>
            <button class="main" disabled={!isComplete || sent !== null} onClick={() => void accept()}>
              {sent === null ? `Accept ${formatCount(links.length - wrong)} links${wrong ? `, reject ${wrong}` : ""}` : `Sending ${formatCount(sent)} …`}
            </button>
          </p>
        </>
      )}
    </Dialog>
  );
}
