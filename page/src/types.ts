// What the service answers; its OpenAPI description is at /api/v1/openapi.json.
export type Side = "left" | "right";

export interface Entity {
  side: Side;
  name: string;
  label: string;
  curie: string;
  lang: string | null;
  dir: "ltr" | "rtl";
  url: string | null;
}

export interface Link {
  left: Entity;
  right: Entity;
  confidence: number;
  state: string;
  since: number | null;
  waiting: boolean;
}

export interface Value {
  text: string;
  lang: string | null;
  dir: "ltr" | "rtl";
  url: string | null;
  /** The IRI, or the literal as N-Triples writes it. */
  name: string;
  is_entity: boolean;
  matched: boolean;
}

export interface Relation {
  name: string;
  label: string;
  curie: string;
  inverse: boolean;
}

export interface ComparedRelation extends Relation {
  side: Side;
  attribute: boolean;
}

export type Agreement = "same" | "similar" | "different" | "only entity" | "only candidate" | null;

export interface ComparisonRow {
  relations: ComparedRelation[];
  cells: Value[][];
  agreement: Agreement[];
}

export interface Comparison {
  columns: Entity[];
  rows: ComparisonRow[];
}

export interface EvidenceItem {
  left_relation: Relation;
  left: Value;
  right_relation: Relation;
  right: Value;
  confidence: number;
  weight: number;
}

/** What a group of features adds to the confidence of a pair. */
export interface Contribution {
  group: string;
  value: number;
}

export interface Candidate {
  entity: Entity;
  confidence: number;
  support: number;
  state: string;
  evidence: EvidenceItem[];
  evidence_count: number;
  contributions: Contribution[];
  why_not: string;
}

export interface LinkEvent {
  version: number | null;
  kind: string;
  left: Entity | null;
  right: Entity | null;
  confidence: number;
  reason: string;
  author: string;
  decided_at: string;
  comment: string;
  waiting: boolean;
  cause: string;
}

export interface Neighbour {
  relation: Relation;
  entity: Entity;
  counterparts: Entity[];
}

export interface UpdateProgress {
  id: string;
  kind: "update" | "revert";
  state: "running" | "done" | "failed";
  step: string;
  done: number;
  total: number | null;
  started_at: string;
  finished_at: string | null;
  message: string;
  version: number | null;
}

export interface Session {
  version: number;
  decisions: number;
  role: string;
  author: string;
  author_fixed: boolean;
  read_only: boolean;
  method: string;
  calibrated: boolean;
  cardinality: string;
  name: string;
  update: UpdateProgress | null;
  can: { decide: boolean; update: boolean };
}

export interface VersionSummary {
  version: number;
  made_at: string;
  source: string;
  given: number;
  found: number;
  added: number;
  revised: number;
  retracted: number;
  confirmed: number;
  rejected: number;
  withdrawn: number;
  seconds: number;
  trained: boolean;
}

export interface Reviewer {
  author: string;
  answers: number;
  same: number;
  different: number;
  no_counterpart: number;
  not_sure: number;
  withdrawn: number;
  last: string;
}

export interface ThresholdRow {
  threshold: number;
  links: number;
  precision: number;
  recall: number;
}

export interface SideCounts {
  entities: number;
  linked: number;
  unlinked: number;
  no_counterpart: number;
}

export interface CalibrationBin {
  start: number;
  end: number;
  count: number;
  mean_confidence: number | null;
  correct: number | null;
}

export interface Overview {
  version: number;
  counts: { given: number; found: number; rejected: number; proposed: number; waiting: number };
  versions: VersionSummary[];
  calibrated: boolean;
  histogram: { start: number; end: number; found: number; proposed: number }[];
  thresholds: ThresholdRow[];
  threshold: number | null;
  dangling: { left: SideCounts; right: SideCounts };
  last_update: Record<string, unknown> | null;
  calibration: { bins: CalibrationBin[]; count: number } | null;
  reviewers: Reviewer[];
}

export interface Question {
  id: string;
  entity: Entity;
  link: Link | null;
  candidates: Candidate[];
  comparison: Comparison;
  expected_gain: number;
  reason: string;
  opinions: Decision[];
  seen_version: number;
}

export interface QuestionPage {
  version: number;
  questions: Question[];
  answered: number;
  /** The gain of F1 that is expected if these questions are answered. */
  expected_gain: number;
  remaining: number;
}

export interface LinkDetails {
  version: number;
  link: Link;
  comparison: Comparison;
  candidate: Candidate | null;
  rivals: { left: Candidate[]; right: Candidate[] };
  neighbours: { left: Neighbour[]; right: Neighbour[]; pairs: [number, number, number][] };
  history: LinkEvent[];
}

export interface EntityDetails {
  version: number;
  entity: Entity;
  links: Link[];
  comparison: Comparison;
  candidates: Candidate[];
  neighbours: Neighbour[];
  neighbour_count: number;
  literal_count: number;
  reason: string;
  threshold: number | null;
  history: LinkEvent[];
}

export interface RelationPair {
  left: Relation;
  right: Relation;
  inverse: boolean;
  left_in_right: number;
  right_in_left: number;
  support: number;
  attribute: boolean;
}

export interface RelationDetails {
  relation: RelationPair;
  examples: { link: Link; left: Value; right: Value; same: boolean }[];
}

export interface Decision {
  number: number;
  kind: string;
  left: Entity | null;
  right: Entity | null;
  author: string;
  decided_at: string;
  comment: string;
  key: string;
  seen_version: number;
  waiting: boolean;
}

export interface Activity {
  disagreements: { left: Entity | null; right: Entity | null; decisions: Decision[] }[];
  recorded: Decision[];
  next: string | null;
  reviewers: Reviewer[];
}

export interface SearchResult {
  entity: Entity;
  match: string;
  prefix: boolean;
  link: Link | null;
}

export interface EntityClass {
  name: string;
  label: string;
  entities: number;
  linked: number;
}

/** An answer as the service takes it. */
export type DecisionRequest = { key: string; seen_version?: number; comment?: string } & (
  | { kind: "same" | "different"; left: string; right: string }
  | {
      kind: "none of these" | "no counterpart" | "not sure";
      entity: { side: Side; name: string };
      candidates?: string[];
    }
);

export interface WithdrawalRequest {
  key: string;
  withdraws: string;
}

export interface DecisionOutcome {
  key: string;
  status: "recorded" | "repeated" | "refused";
  error: { code: string; message: string } | null;
  notice: string | null;
}
