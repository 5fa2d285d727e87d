// The frame around the views: navigation, news, dialogs.
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announcement } from "./announce.ts";
import { connection } from "./api.ts";
import { Heading, Problem } from "./components/basics.tsx";
import { SearchDialog } from "./components/search.tsx";
import { SettingsDialog } from "./components/settings_dialog.tsx";
import { UpdateDialog, UpdateStatus } from "./components/update.tsx";
import { findAction } from "./keys.ts";
import { entityAddress, navigate, place } from "./router.ts";
import { showNewest, situation } from "./session.ts";
import { settings, toggleTheme } from "./settings.ts";
import { useStore } from "./store.ts";
import { EntityView } from "./views/entity.tsx";
import { LinkView } from "./views/link.tsx";
import { LinksView } from "./views/links.tsx";
import { ActivityView, CorrectionsView, RelationsView, UnmatchedView } from "./views/lists.tsx";
import { OverviewView } from "./views/overview.tsx";
import { ReviewView } from "./views/review.tsx";

const VIEWS: Record<string, [label: string, view: ComponentType]> = {
  "/": ["Review", ReviewView],
  "/overview": ["Overview", OverviewView],
  "/links": ["Links", LinksView],
  "/unmatched": ["Unmatched", UnmatchedView],
  "/corrections": ["Corrections", CorrectionsView],
  "/relations": ["Relations", RelationsView],
  "/activity": ["Activity", ActivityView],
};
const DETAILS: Record<string, ComponentType> = { "/link": LinkView, "/entity": EntityView };

type Open = "settings" | "search" | "update" | null;

function Unknown() {
  return <Heading>There is no such page</Heading>;
}

function Header({ open }: { open: (dialog: Open) => void }) {
  const { session, shown } = useStore(situation);
  const { path } = useStore(place);
  useStore(settings);
  return (
    <header>
      <div class="title">
        <strong>
          <bdi>{session?.name}</bdi>
        </strong>{" "}
        <span class="muted">version {shown}</span>
      </div>
      <nav aria-label="Views">
        {Object.entries(VIEWS).map(([address, [label]]) => (
          <a key={address} href={address} aria-current={path === address ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <div class="tools">
        <UpdateStatus />
        {session?.can.update && <button onClick={() => open("update")}>Update</button>}
        <button onClick={toggleTheme} aria-label="Light or dark">
          ◐
        </button>
        <button onClick={() => open("settings")} aria-label="Keys and settings">
          ?
        </button>
      </div>
    </header>
  );
}

/** What a person should know now. Nothing here moves what is below it out of sight. */
function News() {
  const { shown, newest, news } = useStore(situation);
  const { online } = useStore(connection);
  return (
    <div class="news">
      {newest !== shown && (
        <p class="note row">
          Version {newest} is ready{news && `: ${news}`}. <button onClick={showNewest}>Show it</button>
        </p>
      )}
      {!online && <p class="note">The service cannot be reached. Answers are kept and sent later.</p>}
    </div>
  );
}

/** Says news aloud; shows them for a while. */
function Announcer() {
  const { text, kind, number } = useStore(announcement);
  const [visible, setVisible] = useState(false);
  useEffect(() => {
    if (!text) return;
    setVisible(true);
    const timer = setTimeout(() => setVisible(false), kind === "problem" ? 12000 : 5000);
    return () => clearTimeout(timer);
  }, [number]);
  return (
    <div class={`announcer ${visible ? "" : "hidden"} ${kind}`} role="status" aria-live="polite" aria-atomic="true">
      <span key={number} dir="auto">
        {text}
      </span>
    </div>
  );
}

/** The focus goes to the heading of a view that was just opened. */
function useFocus(path: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) document.getElementById("heading")?.focus();
    isFirst.current = false;
  }, [path]);
}

export function App() {
  const { session, error } = useStore(situation);
  const { path } = useStore(place);
  const [open, setOpen] = useState<Open>(null);
  useFocus(path);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const action = findAction(event);
      if (action === "help") setOpen("settings");
      // On the page of questions the search is for a counterpart.
      else if (action === "search" && place.value.path !== "/") setOpen("search");
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  if (!session) return <main>{error ? <Problem text={error} /> : <p class="muted">Loading …</p>}</main>;
  const View = VIEWS[path]?.[1] ?? DETAILS[path] ?? Unknown;
  const close = () => setOpen(null);
  return (
    <>
      <a class="skip" href="#heading">
        Skip to the content
      </a>
      <Header open={setOpen} />
      <main>
        <News />
        <View key={path} />
      </main>
      <Announcer />
      {open === "settings" && <SettingsDialog onClose={close} />}
      {open === "update" && <UpdateDialog onClose={close} />}
      {open === "search" && <SearchDialog title="Search" onPick={(entity) => navigate(entityAddress(entity))} onClose={close} />}
    </>
  );
}
