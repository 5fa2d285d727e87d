// One question at a time: an entity, its candidates, and a key for each answer.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { announce } from "../announce.ts";
import { Evidence } from "../components/evidence.tsx";
import { FactTable } from "../components/facts.tsx";
import { Confidence, EntityLink, Heading, Iri, Key, Label, Problem } from "../components/basics.tsx";
import { SearchDialog } from "../components/search.tsx";
import { startUpdate } from "../components/update.tsx";
import { useTitle } from "../hooks.ts";
import { chosenKeys, findAction, keysOf, nameKey, type Action } from "../keys.ts";
import {
  BATCH,
  answerQuestion,
  changeAnswer,
  currentAuthor,
  describeAnswer,
  expectBatchGain,
  fetchQuestions,
  outbox,
  putOff,
  review,
  startBatch,
  undoAnswer,
  type Answer,
} from "../review.ts";
import { situation } from "../session.ts";
import { changeSettings, settings } from "../settings.ts";
import { useStore } from "../store.ts";
import { formatCount, webAddress } from "../text.ts";
import type { Candidate, Decision, Entity, Question } from "../types.ts";

function KeyHint({ action }: { action: Action }) {
  useStore(chosenKeys);
  const key = keysOf(action)[0];
  return key === undefined ? null : <Key>{nameKey(key)}</Key>;
}

function openEntities(entities: Entity[]): void {
  for (const entity of entities) {
    const address = webAddress(entity);
    if (address) window.open(address, "_blank", "noopener,noreferrer");
  }
}

function CandidateCard(props: { candidate: Candidate; index: number; selected: boolean; onChoose: () => void; onSelect: () => void }) {
  const { candidate, index } = props;
  const action = `choose${index + 1}` as Action;
  const isLinked = candidate.state === "found" || candidate.state === "given";
  return (
    <li class={props.selected ? "selected" : ""} onFocusCapture={props.onSelect} onPointerEnter={props.onSelect}>
      <button class="candidate" onClick={props.onChoose}>
        <KeyHint action={action} />
        <span class="name">
          <Label entity={candidate.entity} />
        </span>
        <Confidence value={candidate.confidence} state={candidate.state} />
      </button>
      <div class="under">
        <Iri entity={candidate.entity} />
        {isLinked && <span class="muted small">linked now</span>}
      </div>
    </li>
  );
}

const BUTTONS: [Action, string][] = [
  ["none", "None of these"],
  ["dangling", "No counterpart"],
  ["unsure", "Not sure"],
  ["later", "Later"],
  ["undo", "Undo"],
  ["reject", "Reject first"],
  ["evidence", "Evidence"],
  ["comment", "Comment"],
  ["search", "Search another"],
  ["open", "Open IRIs"],
];

function Progress() {
  const state = useStore(review);
  const { answered, remaining } = state;
  const gain = expectBatchGain(state);
  const { waiting, problem } = useStore(outbox.state);
  return (
    <div class="progress">
      <progress max={BATCH} value={answered} aria-label={`${answered} of ${BATCH} answered`} />
      <span>
        {answered} of {BATCH}
        {gain > 0 && ` · expected gain of the batch +${gain.toFixed(4)} F1`}
        {` · ${formatCount(remaining)} open`}
      </span>
      <span class="saved" role="status">
        {waiting === 0 ? "" : `${waiting} ${waiting === 1 ? "answer" : "answers"} not sent yet${problem ? `: ${problem}` : ""}`}
      </span>
    </div>
  );
}

function AnswerLine({ answer }: { answer: Answer }) {
  return (
    <li>
      <span class="grow">
        <bdi>{describeAnswer(answer)}</bdi>{" "}
        <span class={answer.status === "refused" ? "problem" : "muted"}>
          {answer.status === "saved" ? "" : answer.status === "waiting" ? "not sent yet" : "not recorded"} {answer.problem}
        </span>
      </span>
      <button class="small" aria-label={`Change: ${describeAnswer(answer)}`} onClick={() => changeAnswer(answer)}>
        Change
      </button>
    </li>
  );
}

function LastAnswers() {
  const { answers } = useStore(review);
  if (answers.length === 0) return null;
  return (
    <details class="answers">
      <summary>Last answers ({answers.length})</summary>
      <ol>
        {answers.map((answer) => (
          <AnswerLine key={answer.key} answer={answer} />
        ))}
      </ol>
    </details>
  );
}

function AuthorPrompt() {
  const { session } = useStore(situation);
  const { author } = useStore(settings);
  const [text, setText] = useState("");
  if (!session || session.author_fixed || session.author || author) return null;
  const save = (event: Event) => {
    event.preventDefault();
    if (text.trim()) changeSettings({ author: text.trim() });
  };
  return (
    <form class="note row" onSubmit={save}>
      <label>
        Your answers can carry your name:{" "}
        <input type="text" autocomplete="name" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit">Use it</button>
    </form>
  );
}

function BatchEnd() {
  const { earnedGain } = useStore(review);
  const { session } = useStore(situation);
  const [problem, setProblem] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => button.current?.focus(), []);
  const update = async () => {
    const message = await startUpdate();
    setProblem(message);
    if (!message) startBatch();
  };
  return (
    <section class="card">
      <Heading>{BATCH} answers: thank you</Heading>
      <p>They count in the next version.{earnedGain > 0 && ` They are expected to raise F1 by ${earnedGain.toFixed(4)}.`}</p>
      {problem && <Problem text={problem} />}
      <div class="row">
        <button ref={button} class="main" onClick={startBatch}>
          Go on
        </button>
        {session?.can.update && <button onClick={() => void update()}>Update now</button>}
      </div>
    </section>
  );
}

function CommentField({ onDone }: { onDone: () => void }) {
  const { comment } = useStore(review);
  const field = useRef<HTMLTextAreaElement>(null);
  // At once: what is typed next is text and no answer.
  useLayoutEffect(() => field.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape") || event.shiftKey) return;
    event.preventDefault();
    onDone();
  };
  return (
    <label class="comment">
      Comment on your answer (Enter to go on)
      <textarea
        ref={field}
        rows={2}
        maxLength={2000}
        dir="auto"
        value={comment}
        onInput={(event) => review.update({ comment: event.currentTarget.value })}
        onKeyDown={onKeyDown}
      />
    </label>
  );
}

function QuestionCard({ question }: { question: Question }) {
  const { changing, comment, answeredBy } = useStore(review);
  const { session } = useStore(situation);
  const [selected, setSelected] = useState(0);
  const [showEvidence, setShowEvidence] = useState(false);
  const [commenting, setCommenting] = useState(false);
  const [searching, setSearching] = useState(false);
  const { entity, candidates } = question;
  const canDecide = session?.can.decide ?? false;

  const choose = (index: number) => {
    const candidate = candidates[index];
    if (candidate) answer("same", candidate.entity);
  };
  const answer: typeof answerQuestion = (kind, chosen) => {
    if (canDecide) answerQuestion(kind, chosen);
    else announce("Reading only: answers are not taken.", "problem");
  };
  const move = (step: number) => setSelected((selected + step + candidates.length) % Math.max(1, candidates.length));
  const first = candidates[0]?.entity;
  const actions: Partial<Record<Action, () => void>> = {
    choose1: () => choose(0),
    choose2: () => choose(1),
    choose3: () => choose(2),
    choose4: () => choose(3),
    choose5: () => choose(4),
    accept: () => choose(0),
    reject: () => first && answer("different", first),
    none: () => candidates.length > 0 && answer("none of these"),
    dangling: () => answer("no counterpart"),
    unsure: () => answer("not sure"),
    later: putOff,
    undo: undoAnswer,
    evidence: () => setShowEvidence(!showEvidence),
    comment: () => setCommenting(true),
    search: () => setSearching(true),
    open: () => openEntities([entity, ...(candidates[selected] ? [candidates[selected].entity] : [])]),
    next: () => move(1),
    previous: () => move(-1),
    scores: () => changeSettings({ showScores: !settings.value.showScores }),
  };
  useActions(actions);
  // The next question is announced, and space is no longer the press of a button.
  useLayoutEffect(() => document.getElementById("heading")?.focus({ preventScroll: true }), []);

  const endComment = () => {
    setCommenting(false);
    document.getElementById("heading")?.focus();
  };
  return (
    <article class="question">
      {changing && (
        <p class="note">
          You answered: <bdi>{describeAnswer(changing)}</bdi>. A new answer replaces it; <KeyHint action="later" /> keeps it.
        </p>
      )}
      {question.opinions.length > 0 && <Opinions opinions={question.opinions} />}
      {answeredBy && <p class="note">{answeredBy} has just answered this question.</p>}
      <div class={`cards n${candidates.length}`}>
        <div class="ask">
          <span class="muted">{entity.side === "left" ? "Left" : "Right"} entity</span>
        </div>
        <div class="subject">
          <Heading>
            <Label entity={entity} />
          </Heading>
          <Iri entity={entity} />
          <span class="muted small">
            <EntityLinkNote question={question} />
          </span>
        </div>
        <h2 class="hidden">Which of these is it?</h2>
        <ol class="candidates">
          {candidates.map((candidate, index) => (
            <CandidateCard
              key={candidate.entity.name}
              candidate={candidate}
              index={index}
              selected={index === selected}
              onChoose={() => choose(index)}
              onSelect={() => setSelected(index)}
            />
          ))}
        </ol>
      </div>
      <div class="actions" role="group" aria-label="Answers">
        {BUTTONS.map(([action, label]) => (
          <button key={action} aria-expanded={action === "evidence" ? showEvidence : undefined} onClick={() => actions[action]?.()}>
            <KeyHint action={action} /> {label}
          </button>
        ))}
      </div>
      {commenting && <CommentField onDone={endComment} />}
      {!commenting && comment && (
        <p class="muted">
          Comment: <bdi>{comment}</bdi>
        </p>
      )}
      <FactTable comparison={question.comparison} selected={selected + 1} />
      {showEvidence && (
        <section class="evidence-cards" aria-label="Evidence">
          {candidates.map((candidate) => (
            <div class="card" key={candidate.entity.name}>
              <h2>
                <Label entity={candidate.entity} /> <Confidence value={candidate.confidence} />
              </h2>
              <Evidence candidate={candidate} />
            </div>
          ))}
        </section>
      )}
      {searching && (
        <SearchDialog
          title="Which entity is the same?"
          side={entity.side === "left" ? "right" : "left"}
          start={entity.label}
          onPick={(picked) => answer("same", picked)}
          onClose={() => setSearching(false)}
        />
      )}
    </article>
  );
}

/** What people have said about the entity, where they disagree. */
function Opinions({ opinions }: { opinions: Decision[] }) {
  return (
    <ul class="note plain-list" aria-label="Earlier answers">
      {opinions.map((opinion) => (
        <li key={opinion.number}>
          <bdi>{opinion.author || "Someone"}</bdi>: {opinion.kind} {opinion.left && <Label entity={opinion.left} />}
          {opinion.left && opinion.right && " – "}
          {opinion.right && <Label entity={opinion.right} />}
          {opinion.comment && (
            <>
              {" "}
              <q dir="auto">{opinion.comment}</q>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function EntityLinkNote({ question }: { question: Question }) {
  const { link, entity, reason } = question;
  const other = link && (entity.side === "left" ? link.right : link.left);
  return (
    <>
      {other ? (
        <>
          linked with <EntityLink entity={other} />
        </>
      ) : (
        "not linked"
      )}
      {reason === "disagreement" && ", people disagree"}
    </>
  );
}

/** Do what the pressed key stands for. */
function useActions(actions: Partial<Record<Action, () => void>>): void {
  const current = useRef(actions);
  current.current = actions;
  // No key press may fall between two questions.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const action = findAction(event);
      const run = action && current.current[action];
      if (!run) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

function NoQuestions() {
  const { loading, problem } = useStore(review);
  useActions({ undo: undoAnswer });
  if (loading) return <p class="muted">Loading …</p>;
  if (problem) return <Problem text={problem} retry={() => void fetchQuestions()} />;
  return (
    <section class="card">
      <Heading>No questions are open</Heading>
      <p>All that is worth asking has been answered. After an update there may be more.</p>
    </section>
  );
}

function EndOfBatch() {
  useActions({ undo: undoAnswer });
  return <BatchEnd />;
}

export function ReviewView() {
  useTitle("Review");
  const { questions, batchDone } = useStore(review);
  const question = questions[0];
  const author = currentAuthor();
  return (
    <>
      <div class="review-head">
        <Progress />
        {author && <span class="muted small">answers as {author}</span>}
      </div>
      <AuthorPrompt />
      {batchDone ? <EndOfBatch /> : question ? <QuestionCard key={question.id} question={question} /> : <NoQuestions />}
      <LastAnswers />
    </>
  );
}
