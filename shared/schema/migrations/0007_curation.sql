-- phase: pre
-- Curation: its cursors, what it proposes, computes and marks, and merges that people confirmed.

-- A name as curation compares it: in normal form, spaces as one, cut so that an index entry holds it.
CREATE FUNCTION comparable_name(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN left(btrim(regexp_replace(normal_form(value), '\s+', ' ', 'g')), 200);

-- The target that curation found by address, path or other name. Acts where nothing has the reference as its `source_id`.
ALTER TABLE link_claims ADD COLUMN curated_target text;

-- By which curation finds the targets of links that wait. Hashed: addresses and paths may be longer than an index entry.
CREATE INDEX entities_by_url ON entities (namespace, hashtextextended(url, 0)) WHERE url <> '';
CREATE INDEX entities_by_source_path ON entities (namespace, hashtextextended(source_path, 0)) WHERE source_path <> '';

-- By which documents that share pieces of text find each other.
CREATE INDEX passages_by_hash ON passages (namespace, embedding_hash)
    WHERE kind = 1 AND owner_kind <> 'observation' AND NOT hidden;

-- By which an observation finds later revisions of itself.
CREATE INDEX observations_by_revision ON observations (namespace, source_system, source_stream, external_id)
    WHERE revision <> '';

-- How far a pass of curation has come, one row a phase. Without any row the next pass begins.
CREATE TABLE curation_cursors (
    namespace text NOT NULL,
    phase text NOT NULL,
    -- The last key that was looked at.
    position text NOT NULL,
    finished boolean NOT NULL,
    PRIMARY KEY (namespace, phase)
);

-- Titles and aliases in normal form, cut to 200 characters, as curation last compared them.
CREATE TABLE entity_names (
    namespace text NOT NULL,
    natural_key text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    PRIMARY KEY (namespace, natural_key, name)
);
-- Equal names, within a kind.
CREATE INDEX entity_names_by_name ON entity_names (namespace, kind, name);

-- Beginnings of the words in entities' names: only names that share one are compared, so that the work grows with the number
-- of names and not with its square.
CREATE TABLE entity_name_keys (
    namespace text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    natural_key text NOT NULL,
    PRIMARY KEY (namespace, kind, key, natural_key)
);
-- The beginnings of an entity's own names.
CREATE INDEX entity_name_keys_by_entity ON entity_name_keys (namespace, natural_key);

-- Pairs of entities that may be one. Made by likeness, decided by people only (EN-1a).
CREATE TABLE duplicate_proposals (
    namespace text NOT NULL,
    -- A hash of the two keys, so that a pair is proposed once.
    proposal_id text NOT NULL,
    first_key text NOT NULL,
    second_key text NOT NULL CHECK (first_key COLLATE "C" < second_key COLLATE "C"),
    score double precision NOT NULL CHECK (score BETWEEN 0 AND 1),
    reason text NOT NULL,
    -- Numbers of DuplicateState.
    state smallint NOT NULL DEFAULT 1 CHECK (state BETWEEN 1 AND 4),
    proposed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    decided_at timestamptz,
    decided_by text NOT NULL DEFAULT '',
    decision_reason text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, proposal_id)
);
-- Lists of a state, likeliest first.
CREATE INDEX duplicate_proposals_by_state ON duplicate_proposals (namespace, state, score DESC, proposal_id);
-- Proposals around an entity, from either end.
CREATE INDEX duplicate_proposals_by_first ON duplicate_proposals (namespace, first_key);
CREATE INDEX duplicate_proposals_by_second ON duplicate_proposals (namespace, second_key);

-- Entities that answer as another: derived from confirmed proposals, always in one step, towards the least key of all that
-- are connected. Nothing else is rewritten, so a merge can be undone.
CREATE TABLE entity_merges (
    namespace text NOT NULL,
    merged_key text NOT NULL,
    canonical_key text NOT NULL,
    PRIMARY KEY (namespace, merged_key)
);
-- All that answer as an entity.
CREATE INDEX entity_merges_by_canonical ON entity_merges (namespace, canonical_key);

-- Weights of entities by the authority of their sources and their age.
CREATE TABLE entity_trust (
    namespace text NOT NULL,
    natural_key text NOT NULL,
    trust double precision NOT NULL CHECK (trust BETWEEN 0 AND 1),
    PRIMARY KEY (namespace, natural_key)
);

-- Things that their source has changed under. Reads show them STALE; what observations say of them stays as it is.
CREATE TABLE stale_marks (
    namespace text NOT NULL,
    -- Numbers of ItemKind: 2 a fact, 3 an entity or record.
    item_kind smallint NOT NULL CHECK (item_kind IN (2, 3)),
    item_key text NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, item_kind, item_key)
);

-- Observations and assertions that were refused, counted by reason: names of ErrorReason without prefix.
CREATE TABLE rejections (
    namespace text NOT NULL,
    reason text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (namespace, reason)
);
