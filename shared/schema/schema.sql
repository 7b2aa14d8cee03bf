-- The whole truth of the schema. The migrations lead to exactly this, which a test proves.
--
-- Every key begins with `namespace` (SH-6), so that each table can be hash-partitioned, or distributed, by it.
-- Only the writer writes, but for `context_traces`. Foreign keys stand only where a cascade is wanted: a check of one locks
-- the row it points to, and entities are the rows that all writers meet at.

CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS fuzzystrmatch;

-- Normal form of text for comparison and search (OB-8): NFC, lower case, ё as е, without zero-width characters and soft
-- hyphens; a no-break space is a space.
CREATE FUNCTION normal_form(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN lower(translate(
        normalize(value, NFC),
        U&'\0451\0401\00A0\202F\2007\00AD\200B\200C\200D\2060\FEFF',
        U&'\0435\0415   '));

-- A name as curation compares it: in normal form, spaces as one, cut so that an index entry holds it.
CREATE FUNCTION comparable_name(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN left(btrim(regexp_replace(normal_form(value), '\s+', ' ', 'g')), 200);

-- Lexemes of a text: Russian stems (whose configuration stems Latin words as English) and exact forms.
-- With a search path of its own: a restored dump fills the column that it makes under an empty one.
CREATE FUNCTION lexemes(value text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    -- Once: as an argument of two calls in plain SQL it would be computed twice.
    normal text := normal_form(value);
BEGIN
    RETURN to_tsvector('pg_catalog.russian', normal) || to_tsvector('pg_catalog.simple', normal);
END
$$;

-- The words of a text that look like identifiers: of four characters at least, with a digit, maybe joined by `-`, `_` or `.`; in
-- normal form, cut to 500 characters. NULL: none.
CREATE FUNCTION identifiers(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (
        SELECT left(string_agg(found[1], ' '), 500)
        FROM regexp_matches(
            normal_form(value), '\m(?=[[:alpha:]_.-]*[0-9])[[:alnum:]]+(?:[-_.][[:alnum:]]+)*', 'g') AS found
        WHERE length(found[1]) > 3);

-- How alike two words of at most 255 characters are, 0 to 1: by Damerau and Levenshtein, where two neighbours that changed
-- places are one edit. 0 above one edit, or above two where both words have nine letters.
CREATE FUNCTION likeness(one text, other text) RETURNS float8
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    edits integer := levenshtein_less_equal(one, other, 2);
    place integer := 1;
BEGIN
    IF edits > 2 THEN
        RETURN 0;
    END IF;
    IF edits = 2 AND length(one) = length(other) THEN
        WHILE substr(one, place, 1) = substr(other, place, 1) LOOP
            place := place + 1;
        END LOOP;
        IF other = overlay(one placing reverse(substr(one, place, 2)) from place for 2) THEN
            edits := 1;
        END IF;
    END IF;
    IF edits = 2 AND least(length(one), length(other)) < 9 THEN
        RETURN 0;
    END IF;
    RETURN 1 - edits::float8 / greatest(length(one), length(other));
END
$$;

-- Whether a caller holds a label of each group. `&` stands before each group. Few rows are asked for it: no plan should mind it.
CREATE FUNCTION holds_of_each(groups text[], granted text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1
AS $$
DECLARE
    label text;
    is_held boolean := true;
BEGIN
    FOREACH label IN ARRAY groups LOOP
        IF label <> '&' THEN
            is_held := is_held OR label = ANY (granted);
        ELSIF is_held THEN
            is_held := false;
        ELSE
            RETURN false;
        END IF;
    END LOOP;
    RETURN is_held;
END
$$;

-- Whether a caller may see a row with these restricting labels (AC-2), of which it must hold one; where the first is `&`, one of
-- each group. The one place where visibility is decided in SQL.
CREATE FUNCTION visible(restricting text[], granted text[], sees_all boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sees_all OR restricting = '{}'::text[]
        OR (restricting && granted AND (restricting[1] <> '&' OR holds_of_each(restricting, granted)));

-- Whether whoever sees a row with the labels `own` sees one with the labels `other`, too; neither has groups. What is told of the
-- first may rest on the second only then (AC-6).
CREATE FUNCTION seen_by_all_of(own text[], other text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN other = '{}'::text[] OR own <> '{}'::text[] AND own <@ other;

-- The labels of a fact that is seen only where its ends and some evidence are (AC-6): its own, where whoever holds one of these
-- may see the others; else groups, each once, sorted, and none that another group implies. So equal conditions are equal arrays.
CREATE FUNCTION labels_of_all(own text[], subject text[], object text[], evidence text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    WITH asked AS (
        SELECT DISTINCT one.labels FROM (VALUES (own), (subject), (object), (evidence)) AS one (labels) WHERE one.labels <> '{}'
    ), needed AS (
        SELECT labels, row_number() OVER (ORDER BY labels COLLATE "C") AS place
        FROM asked
        WHERE NOT EXISTS (
            SELECT FROM asked AS other
            WHERE other.labels <@ asked.labels AND (NOT asked.labels <@ other.labels OR other.labels < asked.labels))
    )
    SELECT CASE WHEN NOT EXISTS (SELECT FROM needed WHERE labels <> own) THEN own ELSE (
        SELECT array_agg(label ORDER BY needed.place, part.place)
        FROM needed CROSS JOIN LATERAL unnest('&'::text || needed.labels) WITH ORDINALITY AS part (label, place)
    ) END
$$;

-- Which labels a row has, as one number: rows with equal labels have equal ones. The hash of an empty array forgets its seed.
CREATE FUNCTION label_set(restricting text[], applies text[]) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN applies = '{}'::text[] THEN hash_array_extended(restricting, 0)
        ELSE hash_array_extended(applies, hash_array_extended(restricting, 0))
    END;

-- Whether labels of elsewhere exclude a row: it has labels of a requested type, and none of the requested values (AC-3).
-- Asked of very many rows, hence no query within.
CREATE FUNCTION labels_of_elsewhere(applies text[], requested text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    asked text;
    own text;
    kind text;
    met text[] := '{}';
    missed text[] := '{}';
BEGIN
    FOREACH asked IN ARRAY requested LOOP
        kind := split_part(asked, ':', 1);
        IF asked = ANY (applies) THEN
            met := met || kind;
            CONTINUE;
        END IF;
        FOREACH own IN ARRAY applies LOOP
            IF split_part(own, ':', 1) = kind THEN
                missed := missed || kind;
                EXIT;
            END IF;
        END LOOP;
    END LOOP;
    RETURN NOT missed <@ met;
END
$$;

-- Whether a row applies where the request is (AC-3). Rows without labels and requests without labels cost nothing.
CREATE FUNCTION applicable(applies text[], requested text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN requested = '{}'::text[] OR applies = '{}'::text[] OR NOT labels_of_elsewhere(applies, requested);

-- What an item's status is, where an operator archived it, or restored it against what was asserted (EN-6).
CREATE FUNCTION effective_status(status smallint, archived boolean) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN archived THEN 5::smallint WHEN NOT archived AND status = 5 THEN 1::smallint ELSE status END;

-- One row a transaction and namespace. A transaction's moment is taken when it commits, so that all that it changed became
-- known at once. NULL only before that.
CREATE TABLE changes (
    namespace text NOT NULL,
    change_id bigint NOT NULL,
    known_at timestamptz,
    PRIMARY KEY (namespace, change_id)
);
-- The latest moment of a namespace.
CREATE INDEX changes_by_moment ON changes (namespace, known_at);
CREATE SEQUENCE change_ids;

-- The number of the change that this transaction makes.
CREATE FUNCTION current_change_id() RETURNS bigint
    LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    held text := current_setting('palimpsest.change_id', true);
BEGIN
    -- Empty, not NULL, in a session that had one before.
    IF held <> '' THEN
        RETURN held::bigint;
    END IF;
    RETURN set_config('palimpsest.change_id', nextval('change_ids')::text, true)::bigint;
END
$$;

-- The advisory lock that writers of a namespace share from when they take their moment till they have committed. Who has held
-- it alone sees, from then on, all that became known up to that time.
CREATE FUNCTION moment_lock(namespace text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('palimpsest.moment' || namespace, 0);

-- Gives a change its moment, at commit: later than all that are committed, even where the clock went back.
CREATE FUNCTION stamp_change() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(moment_lock(NEW.namespace));
    UPDATE changes
    SET known_at = greatest(clock_timestamp(), (
        SELECT max(former.known_at) + interval '1 microsecond' FROM changes AS former
        WHERE former.namespace = NEW.namespace))
    WHERE changes.namespace = NEW.namespace AND changes.change_id = NEW.change_id;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER stamp_at_commit AFTER INSERT ON changes
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stamp_change();

-- Makes the change known in the namespaces of the written rows.
CREATE FUNCTION register_change() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO changes (namespace, change_id)
    SELECT DISTINCT written.namespace, written.change_id FROM written
    WHERE written.change_id = nullif(current_setting('palimpsest.change_id', true), '')::bigint
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

-- What sources said. Immutable but for `status`, `failures` and redaction.
CREATE TABLE observations (
    namespace text NOT NULL,
    observation_id text NOT NULL,
    content_hash text NOT NULL,
    source_system text NOT NULL,
    source_stream text NOT NULL DEFAULT '',
    external_id text NOT NULL DEFAULT '',
    revision text NOT NULL DEFAULT '',
    kind text NOT NULL,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor_key text,
    subject_key text,
    scopes text[] NOT NULL DEFAULT '{}',
    restricting text[] NOT NULL DEFAULT '{}',
    applies text[] NOT NULL DEFAULT '{}',
    content text NOT NULL DEFAULT '',
    -- The JSON text as it came: `json` keeps every byte, so that no number loses a digit.
    data json,
    -- The whole message as it was sent, less content and data: what re-projection reads.
    message bytea NOT NULL,
    trace_id text NOT NULL DEFAULT '',
    -- 1 RECEIVED, 2 PROCESSED, 3 PARTIALLY_PROCESSED, 4 FAILED, 5 REDACTED: numbers of ObservationStatus.
    status smallint NOT NULL CHECK (status BETWEEN 1 AND 5),
    -- [{"index", "code", "reason", "message", "field"}] of the assertions that were not applied.
    failures jsonb NOT NULL DEFAULT '[]',
    redacted_at timestamptz,
    -- The change by which the row became as it is; 0: from before changes were told apart, and known since `recorded_at`.
    change_id bigint NOT NULL DEFAULT current_change_id(),
    -- Derived: its source was deleted.
    withdrawn boolean NOT NULL DEFAULT false,
    -- The subject of the caller, where part of it is private to them: re-projection has to give the same labels.
    private_to text NOT NULL DEFAULT '',
    -- Assertions that its caller had no role for when it was recorded: decided then, for ever (AC-5).
    denied integer[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (namespace, observation_id)
);
-- Newest first, for lists.
CREATE INDEX observations_by_time ON observations (namespace, occurred_at DESC, observation_id);
-- Of one source.
CREATE INDEX observations_by_source ON observations (namespace, source_system, source_stream, occurred_at DESC);
-- Of one trace.
CREATE INDEX observations_by_trace ON observations (namespace, trace_id) WHERE trace_id <> '';
-- By which an observation finds later revisions of itself.
CREATE INDEX observations_by_revision ON observations (namespace, source_system, source_stream, external_id)
    WHERE revision <> '';
-- Of deleted sources, those that still have their content.
CREATE INDEX observations_withdrawn ON observations (namespace, source_system, source_stream)
    WHERE withdrawn AND status <> 5;
-- What retention lets go. Rows lie as they were recorded, so that a summary of pages does, which costs a write next to nothing.
CREATE INDEX observations_by_recording ON observations USING brin (namespace, recorded_at);

-- Things, one row a key; placeholders until somebody describes them.
CREATE TABLE entities (
    namespace text NOT NULL,
    natural_key text NOT NULL,
    kind text NOT NULL DEFAULT '',
    title text NOT NULL DEFAULT '',
    aliases text[] NOT NULL DEFAULT '{}',
    source_path text NOT NULL DEFAULT '',
    source_id text NOT NULL DEFAULT '',
    url text NOT NULL DEFAULT '',
    author text NOT NULL DEFAULT '',
    source_created_at timestamptz,
    source_updated_at timestamptz,
    confidence double precision CHECK (confidence BETWEEN 0 AND 1),
    -- Numbers of Importance.
    importance smallint NOT NULL DEFAULT 0,
    last_seen_at timestamptz NOT NULL,
    -- 1 VAULT, 2 AGENT.
    origin smallint NOT NULL DEFAULT 2,
    attributes jsonb NOT NULL DEFAULT '{}',
    -- Numbers of Status.
    status smallint NOT NULL DEFAULT 1,
    expires_at timestamptz,
    scopes text[] NOT NULL DEFAULT '{}',
    restricting text[] NOT NULL DEFAULT '{}',
    applies text[] NOT NULL DEFAULT '{}',
    -- Serialized palimpsest.v1.Provenance; empty: none.
    provenance bytea NOT NULL DEFAULT '',
    pii_categories text[] NOT NULL DEFAULT '{}',
    placeholder boolean NOT NULL DEFAULT true,
    -- field -> [occurred_at in microseconds, observation id, assertion index] of the value that won (EN-1).
    stamps jsonb NOT NULL DEFAULT '{}',
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The change by which the row became as it is; 0: from before changes were told apart, and known since `recorded_at`.
    change_id bigint NOT NULL DEFAULT current_change_id(),
    -- Repeated from obsolete_marks.
    obsolete_at timestamptz,
    -- Derived: hidden everywhere, because it was deleted, or all that it rests on was.
    withdrawn boolean NOT NULL DEFAULT false,
    -- Derived from item_marks.
    archived boolean,
    PRIMARY KEY (namespace, natural_key)
);
-- By which waiting links find their target.
CREATE INDEX entities_by_source_id ON entities (namespace, kind, source_id) WHERE source_id <> '';
-- By which curation finds the targets of links that wait. Hashed: addresses and paths may be longer than an index entry.
CREATE INDEX entities_by_url ON entities (namespace, hashtextextended(url, 0)) WHERE url <> '';
CREATE INDEX entities_by_source_path ON entities (namespace, hashtextextended(source_path, 0)) WHERE source_path <> '';
-- By which an exact title finds its entity (FA-9).
CREATE INDEX entities_by_title ON entities (namespace, hashtextextended(normal_form(title), 0)) WHERE title <> '';
-- Lists of a kind.
CREATE INDEX entities_by_kind ON entities (namespace, kind, natural_key);
-- Whether labels hide any.
CREATE INDEX entities_restricted ON entities (namespace) WHERE restricting <> '{}';

-- Which observations wrote or named an entity.
CREATE TABLE entity_evidence (
    namespace text NOT NULL,
    natural_key text NOT NULL,
    observation_id text NOT NULL,
    occurred_at timestamptz NOT NULL,
    -- Whether it said something of the entity, or only named it: what re-projection has to read.
    described boolean NOT NULL DEFAULT true,
    -- The restricting labels under which it did; NULL: openly. An entity that was given no labels has those of all that name it.
    restricting text[],
    -- Categories of personal data that were found in what it says of the entity, where the namespace protects it.
    pii_categories text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (namespace, natural_key, observation_id)
);
-- What redaction of an observation touches.
CREATE INDEX entity_evidence_by_observation ON entity_evidence (namespace, observation_id);
-- Entities with personal data.
CREATE INDEX entity_evidence_by_pii ON entity_evidence (namespace, natural_key) WHERE pii_categories <> '{}';

-- Texts of entities, whole.
CREATE TABLE documents (
    namespace text NOT NULL,
    entity_key text NOT NULL,
    -- The original; NULL where the text came in chunks and lives in passages only.
    body text,
    media_type text NOT NULL,
    meta jsonb NOT NULL DEFAULT '{}',
    content_hash text NOT NULL,
    -- The stamp that decides which text is the latest.
    occurred_at timestamptz NOT NULL,
    observation_id text NOT NULL,
    assertion_index integer NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, entity_key)
);

-- Everything that is searched, one row a unit: pieces of text, and facts, entities and records as rendered text.
-- Filters that search applies before ranking are mirrored here (AC-4).
CREATE TABLE passages (
    namespace text NOT NULL,
    passage_id bigint GENERATED ALWAYS AS IDENTITY,
    -- Numbers of ItemKind: 1 chunk, 2 fact, 3 entity, 4 record.
    kind smallint NOT NULL CHECK (kind BETWEEN 1 AND 4),
    -- The entity's key; for a fact its id.
    owner_key text NOT NULL,
    ordinal integer NOT NULL DEFAULT 0,
    -- Kind of the entity that it belongs to; for a fact its predicate.
    owner_kind text NOT NULL DEFAULT '',
    title text NOT NULL DEFAULT '',
    heading text NOT NULL DEFAULT '',
    text text NOT NULL,
    source_path text NOT NULL DEFAULT '',
    token_count integer NOT NULL,
    meta jsonb NOT NULL DEFAULT '{}',
    -- SHA-256 of what is embedded: title, heading and text (DO-3).
    embedding_hash text NOT NULL,
    -- The observation that it came from; NULL for facts and entities, which may have many.
    observation_id text,
    source_system text NOT NULL DEFAULT '',
    source_stream text NOT NULL DEFAULT '',
    occurred_at timestamptz NOT NULL,
    author_key text NOT NULL DEFAULT '',
    -- Interval of a fact or record.
    valid_from timestamptz,
    valid_to timestamptz,
    expires_at timestamptz,
    importance smallint NOT NULL DEFAULT 0,
    -- Numbers of Status.
    status smallint NOT NULL DEFAULT 1,
    scopes text[] NOT NULL DEFAULT '{}',
    -- Of a fact, `labels_of_all` that decide whether it is seen.
    restricting text[] NOT NULL DEFAULT '{}',
    applies text[] NOT NULL DEFAULT '{}',
    -- Deleted, superseded, archived or without evidence: in no answer about the present.
    hidden boolean NOT NULL DEFAULT false,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tsv tsvector NOT NULL GENERATED ALWAYS AS (lexemes(title || E'\n' || heading || E'\n' || text)) STORED,
    -- Where what somebody said stands among what its stream said at one moment. Compares byte by byte.
    place_in_stream text COLLATE "C" NOT NULL DEFAULT '',
    -- What misspelt names and parts of identifiers are sought in: names of an entity with its id, the sentence of a fact; of all
    -- else title and path, once a text, and identifiers. Not the whole text, whose trigrams would cost as much as its words.
    names text GENERATED ALWAYS AS (CASE kind
        WHEN 3 THEN normal_form(left(text, 500) || ' ' || substr(owner_key, strpos(owner_key, ':') + 1))
        WHEN 2 THEN normal_form(left(text, 500))
        ELSE nullif(btrim(
            CASE ordinal WHEN 0 THEN normal_form(title || ' ' || source_path) ELSE '' END
            || CASE WHEN text ~ '[0-9]' THEN ' ' || coalesce(identifiers(text), '') ELSE '' END), '')
        END) STORED,
    PRIMARY KEY (namespace, passage_id)
);
-- Writing an ordinal again replaces it (DO-2).
CREATE UNIQUE INDEX passages_by_owner ON passages (namespace, kind, owner_key, ordinal);
-- Words, within a namespace.
CREATE INDEX passages_by_words ON passages USING gin (namespace, tsv) WHERE NOT hidden;

-- Words of new passages wait in a list, which a write takes into the index of words when it is full, and its caller waits for that.
-- Takes in all of them; answers how many pages they filled.
CREATE FUNCTION take_in_words() RETURNS bigint
    LANGUAGE sql VOLATILE
AS $$ SELECT gin_clean_pending_list('passages_by_words') $$;

-- Consumer tags.
CREATE INDEX passages_by_meta ON passages USING gin (namespace, meta jsonb_path_ops) WHERE meta <> '{}';
-- By which an exact text finds what says it (FA-9). Hashed: a text may be longer than an index entry.
CREATE INDEX passages_by_text ON passages (namespace, hashtextextended(normal_form(text), 0));
-- Neighbours in a session: what somebody said there, in order.
CREATE INDEX passages_by_stream
    ON passages (namespace, source_system, source_stream, occurred_at, place_in_stream, ordinal)
    WHERE author_key <> '' AND source_stream <> '' AND NOT hidden;
-- Names and identifiers by their trigrams.
CREATE INDEX passages_by_names ON passages USING gin (namespace, names gin_trgm_ops)
    WHERE NOT hidden AND names IS NOT NULL;
-- By which documents that share pieces of text find each other.
CREATE INDEX passages_by_hash ON passages (namespace, embedding_hash)
    WHERE kind = 1 AND owner_kind <> 'observation' AND NOT hidden;

-- The sets of labels that occur in a namespace, and how many passages each has.
CREATE INDEX passages_by_labels ON passages (namespace, label_set(restricting, applies)) WHERE NOT hidden;

-- Facts that something else than their own labels hides: of these alone more can be seen, where an end is hidden less.
CREATE INDEX passages_hidden_otherwise ON passages (namespace, owner_key) WHERE kind = 2 AND restricting[1] = '&';

-- Vector spaces: one fingerprint, one table of vectors. Global: a space serves all namespaces.
CREATE TABLE embedding_spaces (
    fingerprint text PRIMARY KEY,
    model text NOT NULL,
    revision text NOT NULL,
    query_prefix text NOT NULL,
    passage_prefix text NOT NULL,
    pooling text NOT NULL,
    dimension integer NOT NULL CHECK (dimension BETWEEN 1 AND 4000),
    normalized boolean NOT NULL,
    table_name text NOT NULL UNIQUE CHECK (table_name ~ '^vectors_[0-9a-f]{24}$'),
    -- active, building, retired
    state text NOT NULL CHECK (state IN ('active', 'building', 'retired')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- While it is filled with what was there before: the last passage that was looked at.
    filled_namespace text NOT NULL DEFAULT '',
    filled_passage_id bigint NOT NULL DEFAULT 0,
    is_filled boolean NOT NULL DEFAULT true,
    -- When another took its place.
    retired_at timestamptz,
    -- Made active by going back to it.
    is_restored boolean NOT NULL DEFAULT false,
    -- What the index of its vectors holds: they whole, one bit a dimension, or their beginning (EM-6). Those that it finds are
    -- held against the query whole.
    first_pass text NOT NULL DEFAULT 'whole' CHECK (first_pass IN ('whole', 'binary', 'truncated')),
    -- Of what the index holds; NULL: whole.
    first_pass_dimension integer,
    CHECK ((first_pass = 'whole') = (first_pass_dimension IS NULL))
);
-- One space is searched.
CREATE UNIQUE INDEX embedding_spaces_one_active ON embedding_spaces (state) WHERE state = 'active';

-- Refuses what is no name of a table of vectors: who may call what follows owns no other table by it.
CREATE FUNCTION require_vector_table(table_name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF table_name !~ '^vectors_[0-9a-f]{24}$' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no table of vectors has that name';
    END IF;
END
$$;

-- Makes the table of a space's vectors. They live apart from the text, whose row and index entries are never rewritten
-- when a vector arrives, and carry the filter columns, so that a filtered index scan can go on (AC-4, EM-4). Partitioned, so
-- that a large namespace is most of the graph that is walked for it: of what it is a small part of, it finds too little.
CREATE FUNCTION create_vector_table(table_name text, dimension integer) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    partitions CONSTANT integer := 16;
BEGIN
    PERFORM require_vector_table(table_name);
    EXECUTE format(
        'CREATE TABLE IF NOT EXISTS %1$I (
            namespace text NOT NULL,
            passage_id bigint NOT NULL,
            embedding_hash text NOT NULL,
            kind smallint NOT NULL,
            restricting text[] NOT NULL,
            applies text[] NOT NULL,
            hidden boolean NOT NULL,
            embedding halfvec(%2$s) NOT NULL,
            label_set bigint NOT NULL GENERATED ALWAYS AS (label_set(restricting, applies)) STORED,
            PRIMARY KEY (namespace, passage_id),
            FOREIGN KEY (namespace, passage_id) REFERENCES passages ON DELETE CASCADE
        ) PARTITION BY HASH (namespace)',
        table_name, dimension);
    FOR number IN 0 .. partitions - 1 LOOP
        EXECUTE format(
            'CREATE TABLE IF NOT EXISTS %1$I PARTITION OF %2$I FOR VALUES WITH (MODULUS %3$s, REMAINDER %4$s)',
            format('%s_%s', table_name, number), table_name, partitions, number);
    END LOOP;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %1$I ON %2$I (namespace, embedding_hash)', table_name || '_by_hash', table_name);
    -- Rows by their labels, and how many there are.
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %1$I ON %2$I (namespace, label_set) WHERE NOT hidden',
        table_name || '_by_labels', table_name);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %1$I ON %2$I USING hnsw (embedding halfvec_cosine_ops) WHERE NOT hidden',
        table_name || '_by_meaning', table_name);
END
$$;

-- Drops a table of vectors, if it is there, with its indexes and what these are made by.
CREATE FUNCTION drop_vector_table(table_name text) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM require_vector_table(table_name);
    EXECUTE format('DROP TABLE IF EXISTS %I', table_name);
    EXECUTE format('DROP FUNCTION IF EXISTS %I(halfvec)', table_name || '_binary');
    EXECUTE format('DROP FUNCTION IF EXISTS %I(halfvec)', table_name || '_truncated');
END
$$;

-- Makes what tells the form of a vector that the index of a space holds, where that is not the whole (EM-6). `binary`: one bit a
-- dimension, on which side of the middle of all it lies there, less what it has of the middle itself; most models put all
-- vectors into one narrow cone, and the signs alone would tell next to nothing. `truncated`: the first numbers.
CREATE FUNCTION define_first_pass(table_name text, form text, dimension integer) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    sample CONSTANT integer := 10000;
    middle halfvec;
BEGIN
    IF form = 'truncated' THEN
        EXECUTE format(
            'CREATE OR REPLACE FUNCTION %1$I(embedding halfvec) RETURNS halfvec
             LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN subvector(embedding, 1, %2$s)',
            table_name || '_truncated', dimension);
        RETURN;
    END IF;
    EXECUTE format(
        'SELECT l2_normalize(avg(embedding)) FROM (
             SELECT embedding FROM %1$I WHERE random() * (SELECT count(*) FROM %1$I) < %2$s) AS sampled',
        table_name, sample) INTO middle;
    IF middle IS NULL THEN
        RAISE EXCEPTION 'the space has no vectors yet' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION %1$I(embedding halfvec) RETURNS bit
         LANGUAGE sql IMMUTABLE PARALLEL SAFE
         RETURN binary_quantize(
             embedding - array_fill((-(embedding <#> %2$L::halfvec))::real, ARRAY[%3$s])::vector::halfvec * %2$L::halfvec)',
        table_name || '_binary', middle, dimension);
END
$$;

-- Passages that wait for a vector in all spaces. Claimed with SKIP LOCKED, leased, deleted when the first is stored (EM-3).
CREATE TABLE embedding_queue (
    namespace text NOT NULL,
    passage_id bigint NOT NULL,
    embedding_hash text NOT NULL,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    -- Set aside after repeated failures: claimed no more, counted in the status.
    poisoned boolean NOT NULL DEFAULT false,
    -- Of a batch, a stream or a long text: single writes go first.
    is_bulk boolean NOT NULL DEFAULT false,
    -- The call that wrote it, as W3C `traceparent`, where that was traced.
    origin text,
    PRIMARY KEY (namespace, passage_id),
    FOREIGN KEY (namespace, passage_id) REFERENCES passages ON DELETE CASCADE
);
-- The order of claiming. Rows that nobody has claimed yet stand first.
CREATE INDEX embedding_queue_by_turn ON embedding_queue (is_bulk, leased_until, enqueued_at) WHERE NOT poisoned;

-- Passages that wait for a vector in one space alone: which had none when the space was made, whose text the space's model
-- could not embed, or that got theirs in another space while this one's model was not served.
CREATE TABLE embedding_backlog (
    namespace text NOT NULL,
    passage_id bigint NOT NULL,
    fingerprint text NOT NULL,
    embedding_hash text NOT NULL,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    -- Set aside after repeated failures: claimed no more, counted in the status.
    poisoned boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, passage_id, fingerprint),
    FOREIGN KEY (namespace, passage_id) REFERENCES passages ON DELETE CASCADE
);
-- The order of claiming.
CREATE INDEX embedding_backlog_by_turn ON embedding_backlog (fingerprint, leased_until, enqueued_at) WHERE NOT poisoned;
-- Set aside, by space.
CREATE INDEX embedding_backlog_set_aside ON embedding_backlog (namespace, fingerprint) WHERE poisoned;

-- Passages that have no vector in the active space yet, or never will. Two parts of the backlog, for each has its index.
CREATE VIEW unembedded AS
    SELECT namespace, passage_id, enqueued_at, poisoned FROM embedding_queue
    UNION ALL
    SELECT namespace, passage_id, enqueued_at, poisoned
    FROM embedding_backlog
    WHERE NOT poisoned AND fingerprint = (SELECT fingerprint FROM embedding_spaces WHERE state = 'active')
    UNION ALL
    SELECT namespace, passage_id, enqueued_at, poisoned
    FROM embedding_backlog
    WHERE poisoned AND fingerprint = (SELECT fingerprint FROM embedding_spaces WHERE state = 'active');

-- subject —predicate→ object, in an interval.
CREATE TABLE facts (
    namespace text NOT NULL,
    fact_id text NOT NULL,
    subject_key text NOT NULL,
    predicate text NOT NULL,
    -- entity, text, integer, decimal, boolean, timestamp, json
    object_type text NOT NULL,
    -- The key, or the canonical text of the literal: what the id is made of.
    object_text text NOT NULL,
    -- The key where the object is an entity.
    object_key text,
    -- Serialized palimpsest.v1.FactObject, as first asserted by the least (occurred_at, observation id).
    object bytea NOT NULL,
    valid_from timestamptz,
    -- What the evidence says of the end.
    asserted_valid_to timestamptz,
    -- Derived: the earliest of asserted, retracted and superseded.
    valid_to timestamptz,
    -- Derived: numbers of FactClosure.
    closure smallint NOT NULL DEFAULT 0,
    -- Derived from fact_supersessions, sorted.
    supersedes text[] NOT NULL DEFAULT '{}',
    superseded_by text[] NOT NULL DEFAULT '{}',
    observed_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Numbers of EvidenceClass.
    evidence smallint NOT NULL,
    confidence double precision NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    importance smallint NOT NULL DEFAULT 0,
    source_path text NOT NULL DEFAULT '',
    scopes text[] NOT NULL DEFAULT '{}',
    restricting text[] NOT NULL DEFAULT '{}',
    applies text[] NOT NULL DEFAULT '{}',
    origin smallint NOT NULL DEFAULT 2,
    attributes jsonb NOT NULL DEFAULT '{}',
    status smallint NOT NULL DEFAULT 1,
    evidence_lost boolean NOT NULL DEFAULT false,
    expires_at timestamptz,
    sentence text NOT NULL,
    -- As in entities.
    stamps jsonb NOT NULL DEFAULT '{}',
    -- The change by which the row became as it is; 0: from before changes were told apart, and known since `recorded_at`.
    change_id bigint NOT NULL DEFAULT current_change_id(),
    -- Repeated from obsolete_marks.
    obsolete_at timestamptz,
    obsolete_reason text NOT NULL DEFAULT '',
    -- Derived: hidden everywhere, because it was deleted, or all that it rests on was.
    withdrawn boolean NOT NULL DEFAULT false,
    -- Derived from item_marks.
    archived boolean,
    PRIMARY KEY (namespace, fact_id)
);
-- Facts about a subject, and the timeline of a predicate.
CREATE INDEX facts_by_subject ON facts (namespace, subject_key, predicate, valid_from);
-- Facts that lead from and to an entity, surest first: a walk reads as many as it follows.
CREATE INDEX facts_from_by_weight ON facts (namespace, subject_key, confidence DESC, predicate, fact_id)
    WHERE object_key IS NOT NULL;
CREATE INDEX facts_to_by_weight ON facts (namespace, object_key, confidence DESC, predicate, fact_id)
    WHERE object_key IS NOT NULL;
-- Facts of a predicate.
CREATE INDEX facts_by_predicate ON facts (namespace, predicate, fact_id);

-- Which observations a fact rests on.
CREATE TABLE fact_evidence (
    namespace text NOT NULL,
    fact_id text NOT NULL,
    observation_id text NOT NULL,
    occurred_at timestamptz NOT NULL,
    evidence smallint NOT NULL,
    confidence double precision NOT NULL,
    PRIMARY KEY (namespace, fact_id, observation_id)
);
-- What redaction of an observation touches.
CREATE INDEX fact_evidence_by_observation ON fact_evidence (namespace, observation_id);

-- Makes passages of facts repeat who may see these (AC-4, AC-6): whoever sees the fact itself, both ends and one of the
-- observations that it rests on. The passages are locked, or the namespace is held alone. Answers those that changed; their
-- vectors have to follow.
CREATE FUNCTION mirror_fact_labels(names text[], ids text[]) RETURNS TABLE (namespace text, passage_id bigint)
    LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE passages AS p SET restricting = shown.restricting
    FROM (
        SELECT fact.namespace, fact.fact_id, CASE
            WHEN seen_by_all_of(own, subject) AND seen_by_all_of(own, object) AND evidence = '{}'
            THEN own ELSE labels_of_all(own, subject, object, evidence) END AS restricting
        FROM (
            SELECT f.namespace, f.fact_id, f.restricting AS own,
                coalesce((
                    SELECT e.restricting FROM entities AS e
                    WHERE e.namespace = f.namespace AND e.natural_key = f.subject_key), '{}') AS subject,
                coalesce((
                    SELECT e.restricting FROM entities AS e
                    WHERE e.namespace = f.namespace AND e.natural_key = f.object_key), '{}') AS object,
                -- None where one observation is open, or whoever sees the fact itself may see one: most facts.
                CASE WHEN EXISTS (
                    SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                    WHERE fe.namespace = f.namespace AND fe.fact_id = f.fact_id
                      AND seen_by_all_of(f.restricting, o.restricting))
                THEN '{}' ELSE ARRAY(
                    SELECT DISTINCT label COLLATE "C"
                    FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                        CROSS JOIN LATERAL unnest(o.restricting) AS label
                    WHERE fe.namespace = f.namespace AND fe.fact_id = f.fact_id
                    ORDER BY 1) END AS evidence
            FROM unnest(names, ids) AS given (namespace, fact_id) JOIN facts AS f USING (namespace, fact_id)
            OFFSET 0
        ) AS fact
    ) AS shown
    WHERE p.namespace = shown.namespace AND p.kind = 2 AND p.owner_key = shown.fact_id
      AND p.restricting <> shown.restricting
    RETURNING p.namespace, p.passage_id;
END
$$;

-- Statements that one fact takes the place of another: rows of their own, in effect whenever both facts are there.
-- Considered by rising (occurred_at, observation_id, assertion_index); one that would close a cycle is refused, so that
-- which one it is does not depend on the order of arrival (FA-5, OB-7).
CREATE TABLE fact_supersessions (
    namespace text NOT NULL,
    old_fact_id text NOT NULL,
    new_fact_id text NOT NULL,
    observation_id text NOT NULL,
    assertion_index integer NOT NULL,
    occurred_at timestamptz NOT NULL,
    -- The old fact was wrong from the start, not only over.
    correction boolean NOT NULL DEFAULT false,
    refused boolean NOT NULL DEFAULT false,
    reason text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, old_fact_id, new_fact_id, observation_id)
);
-- The component of a fact, from its newer end.
CREATE INDEX fact_supersessions_by_new ON fact_supersessions (namespace, new_fact_id);
-- What redaction of an observation touches.
CREATE INDEX fact_supersessions_by_observation ON fact_supersessions (namespace, observation_id);

-- Statements that a fact ended.
CREATE TABLE fact_retractions (
    namespace text NOT NULL,
    fact_id text NOT NULL,
    observation_id text NOT NULL,
    valid_to timestamptz NOT NULL,
    occurred_at timestamptz NOT NULL,
    reason text NOT NULL DEFAULT '',
    -- Why it ends the fact: a number of FactClosure, 3 RETRACTED or 6 SNAPSHOT.
    closure smallint NOT NULL DEFAULT 3 CHECK (closure IN (3, 6)),
    PRIMARY KEY (namespace, fact_id, observation_id)
);

-- Messages that wait for facts to be extracted from them. Claimed with SKIP LOCKED, leased, deleted with the transaction that
-- stores what was found (CP-5). Holds no text.
CREATE TABLE extraction_queue (
    namespace text NOT NULL,
    observation_id text NOT NULL,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    -- How often it was claimed: by that a holder knows whether its lease is still the last one.
    claims bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    -- Given up after repeated failures: claimed no more until somebody says so.
    dead boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, observation_id)
);
-- The order of claiming.
CREATE INDEX extraction_queue_by_lease ON extraction_queue (leased_until, enqueued_at) WHERE NOT dead;

-- Which observations were made of which: erasure takes them along.
CREATE TABLE derivations (
    namespace text NOT NULL,
    source_observation_id text NOT NULL,
    derived_observation_id text NOT NULL,
    PRIMARY KEY (namespace, source_observation_id, derived_observation_id)
);

-- What was taken out of captured text, counted by what it was.
CREATE TABLE stripped (
    namespace text NOT NULL,
    what text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (namespace, what)
);

-- Typed edges between entities.
CREATE TABLE links (
    namespace text NOT NULL,
    source_key text NOT NULL,
    relation text NOT NULL,
    target_key text NOT NULL,
    weight double precision NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0 AND 1),
    -- Numbers of LinkOrigin.
    origin smallint NOT NULL DEFAULT 1,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The change by which the row became as it is; 0: from before changes were told apart, and known since `recorded_at`.
    change_id bigint NOT NULL DEFAULT current_change_id(),
    -- Derived: hidden everywhere, because it was deleted, or all that it rests on was.
    withdrawn boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, source_key, relation, target_key)
);
-- The walk along the direction and against it, heaviest first: it reads as many as it follows.
CREATE INDEX links_from_by_weight ON links (namespace, source_key, weight DESC, relation, target_key);
CREATE INDEX links_to_by_weight ON links (namespace, target_key, weight DESC, relation, source_key);

-- Which observations a link rests on.
CREATE TABLE link_evidence (
    namespace text NOT NULL,
    source_key text NOT NULL,
    relation text NOT NULL,
    target_key text NOT NULL,
    observation_id text NOT NULL,
    weight double precision NOT NULL,
    -- Claimed, or said plainly: a claim may leave a target, which does not take back what was said.
    claimed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, source_key, relation, target_key, observation_id, claimed)
);
-- What redaction of an observation touches.
CREATE INDEX link_evidence_by_observation ON link_evidence (namespace, observation_id);

-- Links whose target is named in its source's terms (DO-7). `target_key` is set once it has arrived.
CREATE TABLE link_claims (
    namespace text NOT NULL,
    source_key text NOT NULL,
    relation text NOT NULL,
    target_kind text NOT NULL,
    target_ref text NOT NULL,
    source_hint text NOT NULL DEFAULT '',
    weight double precision NOT NULL DEFAULT 1,
    observation_ids text[] NOT NULL,
    target_key text,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The target that curation found by address, path or other name. Acts where nothing has the reference as its
    -- `source_id`.
    curated_target text,
    PRIMARY KEY (namespace, source_key, relation, target_kind, target_ref)
);
-- By which an arriving entity finds the links that wait for it.
CREATE INDEX link_claims_by_target ON link_claims (namespace, target_kind, target_ref);

-- When the background loop of curation may look at a namespace next: after the interval or, while a replica is at work there,
-- when its lease ends.
CREATE TABLE curation_runs (
    namespace text PRIMARY KEY,
    due_at timestamptz NOT NULL
);
-- The next one.
CREATE INDEX curation_runs_by_due ON curation_runs (due_at);

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

-- The advisory lock that compilations share while they leave a trace, and that erasure holds alone: so that no trace of what is
-- being erased is left behind its back.
CREATE FUNCTION trace_lock(namespace text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('palimpsest.trace' || namespace, 0);

-- What compilations of context saw and chose (RE-9). The one table that readers write, and no knowledge: it follows from reads.
CREATE TABLE context_traces (
    namespace text NOT NULL,
    trace_id text NOT NULL,
    pack_id text NOT NULL,
    compiled_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Whose it is: the caller, and the restricting labels that it held. Who holds fewer by now may not read it any more.
    subject text NOT NULL,
    granted text[] NOT NULL,
    sees_all boolean NOT NULL,
    -- Serialized palimpsest.v1.CompileContextRequest, ContextTrace and ContextPack.
    request bytea NOT NULL,
    trace bytea NOT NULL,
    pack bytea NOT NULL,
    -- Of a delta: serialized ContextPack of what former packs told and still holds. Empty: none.
    known bytea NOT NULL DEFAULT '',
    -- What erasure finds it by: keys of entities, ids of facts and observations that it names or rests on.
    item_keys text[] NOT NULL,
    PRIMARY KEY (namespace, trace_id)
);
-- The latest trace of a pack.
CREATE INDEX context_traces_by_pack ON context_traces (namespace, pack_id, compiled_at DESC);
-- What erasure of an item takes with it.
CREATE INDEX context_traces_by_item ON context_traces USING gin (namespace, item_keys);
-- What capture compares messages with: the packs that were rendered last.
CREATE INDEX context_traces_by_moment ON context_traces (namespace, compiled_at DESC);
-- What has expired.
CREATE INDEX context_traces_by_expiry ON context_traces (expires_at);

-- Leaves a trace in one round trip: each query of a volatile function sees what was committed up to then. False on a replica,
-- while erasure is at work, and where one of the observations that it rests on was erased since. A commit that is lost in a
-- crash loses a trace and nothing else, so nobody waits for the disk.
CREATE FUNCTION leave_trace(
    name text, trace_id text, pack_id text, compiled_at timestamptz, kept_s double precision, subject text, granted text[],
    sees_all boolean, request bytea, trace bytea, pack bytea, known bytea, item_keys text[], observation_ids text[])
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF pg_is_in_recovery() OR NOT pg_try_advisory_xact_lock_shared(trace_lock(name)) THEN
        RETURN false;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO context_traces (
        namespace, trace_id, pack_id, compiled_at, expires_at, subject, granted, sees_all, request, trace, pack, known,
        item_keys)
    SELECT $1, $2, $3, $4, $4 + make_interval(secs => $5), $6, $7, $8, $9, $10, $11, $12, $13
    WHERE NOT EXISTS (
        SELECT FROM unnest($14) AS rests (observation_id)
        WHERE NOT EXISTS (
            SELECT FROM observations AS o
            WHERE o.namespace = $1 AND o.observation_id = rests.observation_id AND o.redacted_at IS NULL))
    -- Equal compilations in one microsecond are one.
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;

-- Domain packs, each version once and for ever (DP-1).
CREATE TABLE domain_packs (
    namespace text NOT NULL,
    pack text NOT NULL,
    version bigint NOT NULL,
    -- The contract's DomainPack as JSON, its fields by their names.
    definition json NOT NULL,
    -- SHA-256 of its canonical form: what tells the same from another.
    content_hash text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, pack, version)
);

-- How namespaces behave (NS-2). Every version is kept; the greatest is in force. None: the defaults, version 0.
CREATE TABLE namespace_settings (
    namespace text NOT NULL,
    version bigint NOT NULL CHECK (version > 0),
    -- The contract's NamespaceSettings as JSON, its fields by their names.
    settings json NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, version)
);

-- What operators said of facts and entities (EN-6): rows of their own, so that no later observation undoes them.
CREATE TABLE item_marks (
    namespace text NOT NULL,
    -- Numbers of ItemKind: 2 fact, 3 entity or record.
    kind smallint NOT NULL CHECK (kind IN (2, 3)),
    item_key text NOT NULL,
    last_confirmed_at timestamptz,
    -- NULL: nobody said; false: restored, whatever was asserted.
    archived boolean,
    archive_reason text NOT NULL DEFAULT '',
    -- NULL: not deleted.
    deleted_at timestamptz,
    delete_reason text NOT NULL DEFAULT '',
    -- Who set a mark last.
    marked_by text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, kind, item_key)
);

-- Which roles may change an item (AC-5): rows of their own, one an assertion that says so, so that what acts, the latest, does
-- not depend on the order of arrival.
CREATE TABLE write_guards (
    namespace text NOT NULL,
    -- Numbers of ItemKind: 2 a fact, 3 an entity or record.
    kind smallint NOT NULL CHECK (kind IN (2, 3)),
    item_key text NOT NULL,
    observation_id text NOT NULL,
    assertion_index integer NOT NULL,
    occurred_at timestamptz NOT NULL,
    write_roles text[] NOT NULL,
    PRIMARY KEY (namespace, kind, item_key, observation_id, assertion_index)
);
-- What redaction of an observation touches.
CREATE INDEX write_guards_by_observation ON write_guards (namespace, observation_id);

-- Registered sources (DO-9). A stream's own row goes before that of its whole system.
CREATE TABLE sources (
    namespace text NOT NULL,
    system text NOT NULL,
    -- Empty: all streams of the system.
    stream text NOT NULL DEFAULT '',
    authority double precision NOT NULL CHECK (authority BETWEEN 0 AND 1),
    -- Numbers of SourceState: 1 ACTIVE, 2 PAUSED, 3 DELETED.
    state smallint NOT NULL CHECK (state BETWEEN 1 AND 3),
    description text NOT NULL DEFAULT '',
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Of the last change of state.
    reason text NOT NULL DEFAULT '',
    changed_by text NOT NULL DEFAULT '',
    -- Since when it is deleted; NULL where it is not, or that was not noted yet.
    deleted_at timestamptz,
    PRIMARY KEY (namespace, system, stream)
);

-- Complete passes over folders of documents (DO-5). The greater number is the newer run.
CREATE TABLE vault_runs (
    namespace text NOT NULL,
    vault_run_id text NOT NULL,
    vault text NOT NULL,
    run_number bigint GENERATED ALWAYS AS IDENTITY,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- NULL: open, or broken off.
    completed_at timestamptz,
    -- What completing it did.
    met bigint NOT NULL DEFAULT 0,
    removed bigint NOT NULL DEFAULT 0,
    removed_keys text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (namespace, vault_run_id)
);
-- The newest completed run of a vault.
CREATE INDEX vault_runs_by_vault ON vault_runs (namespace, vault, run_number);

-- Observations that came from a vault, and the newest run that met each.
CREATE TABLE vault_observations (
    namespace text NOT NULL,
    vault text NOT NULL,
    observation_id text NOT NULL,
    entity_key text NOT NULL,
    last_run_number bigint NOT NULL,
    PRIMARY KEY (namespace, vault, observation_id)
);
-- What a complete run did not meet.
CREATE INDEX vault_observations_by_run ON vault_observations (namespace, vault, last_run_number);
-- Whether an observation or an entity is a vault's.
CREATE INDEX vault_observations_by_observation ON vault_observations (namespace, observation_id);
CREATE INDEX vault_observations_by_entity ON vault_observations (namespace, entity_key);

-- What facts were before. The row is kept as JSON, so that it has every column, those that come later too.
CREATE TABLE fact_versions (
    namespace text NOT NULL,
    fact_id text NOT NULL,
    change_id bigint NOT NULL,
    until_change_id bigint NOT NULL,
    subject_key text NOT NULL,
    predicate text NOT NULL,
    object_key text,
    state jsonb NOT NULL,
    PRIMARY KEY (namespace, fact_id, until_change_id)
);
CREATE INDEX fact_versions_by_subject ON fact_versions (namespace, subject_key, predicate);
CREATE INDEX fact_versions_by_object ON fact_versions (namespace, object_key) WHERE object_key IS NOT NULL;

-- What entities were before, as far as an assertion or an operator changed it.
CREATE TABLE entity_versions (
    namespace text NOT NULL,
    natural_key text NOT NULL,
    change_id bigint NOT NULL,
    until_change_id bigint NOT NULL,
    state jsonb NOT NULL,
    PRIMARY KEY (namespace, natural_key, until_change_id)
);

-- What links were before.
CREATE TABLE link_versions (
    namespace text NOT NULL,
    source_key text NOT NULL,
    relation text NOT NULL,
    target_key text NOT NULL,
    change_id bigint NOT NULL,
    until_change_id bigint NOT NULL,
    state jsonb NOT NULL,
    PRIMARY KEY (namespace, source_key, relation, target_key, until_change_id)
);
CREATE INDEX link_versions_by_target ON link_versions (namespace, target_key);

-- Keeps what a fact was. What this transaction itself wrote was never known, and a stamp alone changes nothing.
CREATE FUNCTION keep_fact_version() RETURNS trigger
    LANGUAGE plpgsql
AS $$
DECLARE
    former facts := OLD;
BEGIN
    former.stamps := NEW.stamps;
    NEW.change_id := OLD.change_id;
    IF former IS NOT DISTINCT FROM NEW THEN
        RETURN NEW;
    END IF;
    NEW.change_id := current_change_id();
    IF OLD.change_id <> NEW.change_id THEN
        INSERT INTO fact_versions
            (namespace, fact_id, change_id, until_change_id, subject_key, predicate, object_key, state)
        VALUES (OLD.namespace, OLD.fact_id, OLD.change_id, NEW.change_id, OLD.subject_key, OLD.predicate,
                OLD.object_key, to_jsonb(OLD));
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION keep_entity_version() RETURNS trigger
    LANGUAGE plpgsql
AS $$
DECLARE
    former entities := OLD;
BEGIN
    -- When it was last seen follows from its evidence.
    former.stamps := NEW.stamps;
    former.last_seen_at := NEW.last_seen_at;
    NEW.change_id := OLD.change_id;
    IF former IS NOT DISTINCT FROM NEW THEN
        RETURN NEW;
    END IF;
    NEW.change_id := current_change_id();
    IF OLD.change_id <> NEW.change_id THEN
        INSERT INTO entity_versions (namespace, natural_key, change_id, until_change_id, state)
        VALUES (OLD.namespace, OLD.natural_key, OLD.change_id, NEW.change_id, to_jsonb(OLD));
    END IF;
    RETURN NEW;
END
$$;

-- Links come and go with the claims that lead to them.
CREATE FUNCTION keep_link_version() RETURNS trigger
    LANGUAGE plpgsql
AS $$
DECLARE
    until_change_id bigint;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.change_id := OLD.change_id;
        IF OLD IS NOT DISTINCT FROM NEW THEN
            RETURN NEW;
        END IF;
        NEW.change_id := current_change_id();
    END IF;
    until_change_id := current_change_id();
    IF OLD.change_id <> until_change_id THEN
        INSERT INTO link_versions (namespace, source_key, relation, target_key, change_id, until_change_id, state)
        VALUES (OLD.namespace, OLD.source_key, OLD.relation, OLD.target_key, OLD.change_id, until_change_id,
                to_jsonb(OLD));
    END IF;
    IF TG_OP = 'DELETE' THEN
        INSERT INTO changes (namespace, change_id) VALUES (OLD.namespace, until_change_id) ON CONFLICT DO NOTHING;
        RETURN OLD;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER keep_version BEFORE UPDATE ON facts FOR EACH ROW EXECUTE FUNCTION keep_fact_version();
CREATE TRIGGER keep_version BEFORE UPDATE ON entities FOR EACH ROW EXECUTE FUNCTION keep_entity_version();
CREATE TRIGGER keep_version BEFORE UPDATE OR DELETE ON links FOR EACH ROW EXECUTE FUNCTION keep_link_version();

CREATE TRIGGER register_inserted AFTER INSERT ON observations
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION register_change();
CREATE TRIGGER register_inserted AFTER INSERT ON entities
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION register_change();
CREATE TRIGGER register_updated AFTER UPDATE ON entities
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION register_change();
CREATE TRIGGER register_inserted AFTER INSERT ON facts
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION register_change();
CREATE TRIGGER register_updated AFTER UPDATE ON facts
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION register_change();
CREATE TRIGGER register_inserted AFTER INSERT ON links
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION register_change();
CREATE TRIGGER register_updated AFTER UPDATE ON links
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION register_change();

-- Marks of obsolescence (FA-9): rows of their own, so that no observation undoes them. `facts` and `entities` repeat them.
CREATE TABLE obsolete_marks (
    namespace text NOT NULL,
    -- Numbers of ItemKind: 2 a fact, 3 an entity or record.
    kind smallint NOT NULL CHECK (kind IN (2, 3)),
    item_key text NOT NULL,
    marked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason text NOT NULL DEFAULT '',
    evidence_observation_ids text[] NOT NULL DEFAULT '{}',
    marked_by text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, kind, item_key)
);

-- What is erased leaves no former version behind.
CREATE FUNCTION forget_fact_versions() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM fact_versions AS version USING erased
    WHERE version.namespace = erased.namespace AND version.fact_id = erased.fact_id;
    DELETE FROM obsolete_marks AS mark USING erased
    WHERE mark.namespace = erased.namespace AND mark.kind = 2 AND mark.item_key = erased.fact_id;
    RETURN NULL;
END
$$;
CREATE FUNCTION forget_entity_versions() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM entity_versions AS version USING erased
    WHERE version.namespace = erased.namespace AND version.natural_key = erased.natural_key;
    DELETE FROM obsolete_marks AS mark USING erased
    WHERE mark.namespace = erased.namespace AND mark.kind = 3 AND mark.item_key = erased.natural_key;
    RETURN NULL;
END
$$;
CREATE TRIGGER forget_versions AFTER DELETE ON facts
    REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION forget_fact_versions();
CREATE TRIGGER forget_versions AFTER DELETE ON entities
    REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION forget_entity_versions();

-- What `Watch` cannot tell from rows as they are (RE-13): who could see a thing before its labels changed, or it was withdrawn or
-- erased, what evidence was struck, and what operators and curation said. Ordinary writes leave nothing here. Kept for a time only:
-- a cursor older than that is refused.
CREATE TABLE touched_items (
    namespace text NOT NULL,
    change_id bigint NOT NULL DEFAULT current_change_id(),
    touch_id bigint GENERATED ALWAYS AS IDENTITY,
    -- 0 an observation, else numbers of ItemKind: 2 a fact, 3 an entity or record.
    kind smallint NOT NULL CHECK (kind IN (0, 2, 3)),
    -- Its id. Of an entity that was erased the SHA-256 of the key, in hex.
    item_key text NOT NULL,
    -- 1 who may see it, or whether it is there; 2 its evidence; 3 what is said about it.
    what smallint NOT NULL CHECK (what BETWEEN 1 AND 3),
    -- Of 1 who could see it before, of 2 and 3 who can see what changed: who holds a label of each group. A group without labels is
    -- everybody. Labels are hashes, for they may name people who are erased.
    audience jsonb NOT NULL,
    was_withdrawn boolean NOT NULL DEFAULT false,
    is_erased boolean NOT NULL DEFAULT false,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, change_id, touch_id)
);
-- All about one thing: erasure has to make hashes of its key.
CREATE INDEX touched_items_by_item ON touched_items (namespace, item_key);
-- What is kept no longer.
CREATE INDEX touched_items_by_time ON touched_items USING brin (touched_at);
-- Rows by the change that made them what they are. A summary of pages costs a write next to nothing, and hinders no update in place.
CREATE INDEX observations_by_change ON observations USING brin (change_id) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX entities_by_change ON entities USING brin (change_id) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX facts_by_change ON facts USING brin (change_id) WITH (pages_per_range = 32, autosummarize = on);

-- By which cursors are sealed: the moments that they hold may be those of changes that their holders may not see. One row. Never
-- leaves the services.
CREATE TABLE cursor_secret (
    is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one),
    secret bytea NOT NULL DEFAULT (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);
INSERT INTO cursor_secret DEFAULT VALUES;

-- A label as `touched_items` keeps it.
CREATE FUNCTION label_hash(label text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN encode(substr(sha256(convert_to(label, 'UTF8')), 1, 8), 'hex');

-- Restricting labels as a group of an audience.
CREATE FUNCTION audience_of(restricting text[]) RETURNS jsonb
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT coalesce(jsonb_agg(label_hash(label) ORDER BY label), '[]') FROM unnest(restricting) AS label
$$;

-- Everybody who is in one of several groups: the labels of all, or none where one has none.
CREATE FUNCTION joined_audience(groups jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT CASE
        WHEN EXISTS (SELECT FROM jsonb_array_elements(groups) AS one WHERE one = '[]') THEN '[]'::jsonb
        ELSE (SELECT jsonb_agg(DISTINCT label)
              FROM jsonb_array_elements(groups) AS one CROSS JOIN jsonb_array_elements(one) AS label)
    END
$$;

-- Whether who holds these labels, as hashes, is in each group of an audience.
CREATE FUNCTION admits(audience jsonb, granted text[], sees_all boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT sees_all OR NOT EXISTS (
        SELECT FROM jsonb_array_elements(audience) AS one WHERE one <> '[]' AND NOT one ?| granted)
$$;

-- The hash by which an erased entity is known.
CREATE FUNCTION erased_key(natural_key text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN encode(sha256(convert_to(natural_key, 'UTF8')), 'hex');

-- Makes this transaction's change known in a namespace, so that what it touched has a moment.
CREATE FUNCTION register_touch() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO changes (namespace, change_id) SELECT DISTINCT namespace, change_id FROM touched ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER register_touch AFTER INSERT ON touched_items
    REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION register_touch();

-- Notes of an entity or fact who could see it so far. The name of its key's column is the argument.
CREATE FUNCTION touch_relabelled() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience, was_withdrawn)
    VALUES (
        OLD.namespace, TG_ARGV[0]::smallint, to_jsonb(OLD) ->> TG_ARGV[1], 1,
        jsonb_build_array(audience_of(OLD.restricting)), OLD.withdrawn);
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_relabelled AFTER UPDATE ON entities FOR EACH ROW
    WHEN (OLD.scopes IS DISTINCT FROM NEW.scopes OR OLD.restricting IS DISTINCT FROM NEW.restricting
        OR OLD.withdrawn IS DISTINCT FROM NEW.withdrawn)
    EXECUTE FUNCTION touch_relabelled('3', 'natural_key');
CREATE TRIGGER touch_relabelled AFTER UPDATE ON facts FOR EACH ROW
    WHEN (OLD.scopes IS DISTINCT FROM NEW.scopes OR OLD.restricting IS DISTINCT FROM NEW.restricting
        OR OLD.withdrawn IS DISTINCT FROM NEW.withdrawn)
    EXECUTE FUNCTION touch_relabelled('2', 'fact_id');

-- Notes observations that became something else after they were stored: withdrawn, redacted, with another outcome.
CREATE FUNCTION touch_observations() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience, was_withdrawn)
    SELECT former.namespace, 0, former.observation_id, 1, jsonb_build_array(audience_of(former.restricting)), former.withdrawn
    FROM former JOIN latter USING (namespace, observation_id)
    WHERE former.change_id IS DISTINCT FROM nullif(current_setting('palimpsest.change_id', true), '')::bigint
      AND (former.withdrawn, former.status, former.redacted_at, former.failures)
        IS DISTINCT FROM (latter.withdrawn, latter.status, latter.redacted_at, latter.failures);
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_updated AFTER UPDATE ON observations
    REFERENCING OLD TABLE AS former NEW TABLE AS latter FOR EACH STATEMENT EXECUTE FUNCTION touch_observations();

CREATE FUNCTION touch_erased_observations() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience, was_withdrawn, is_erased)
    SELECT namespace, 0, observation_id, 1, jsonb_build_array(audience_of(restricting)), withdrawn, true FROM erased;
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_erased AFTER DELETE ON observations
    REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION touch_erased_observations();

-- Notes entities that are erased, by a hash of their keys, and makes hashes of what was noted of them before.
CREATE FUNCTION touch_erased_entities() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE touched_items AS touch SET item_key = erased_key(touch.item_key)
    FROM erased
    WHERE touch.namespace = erased.namespace AND touch.kind = 3 AND touch.item_key = erased.natural_key;
    -- Who could see it at any time that is remembered: of its labels before, a cursor may still want to know.
    INSERT INTO touched_items (namespace, kind, item_key, what, audience, was_withdrawn, is_erased)
    SELECT erased.namespace, 3, erased_key(erased.natural_key), 1,
        jsonb_build_array(joined_audience(jsonb_build_array(audience_of(erased.restricting)) || before.groups)),
        erased.withdrawn AND before.was_withdrawn, true
    FROM erased CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(touch.audience -> 0), '[]') AS groups, coalesce(bool_and(touch.was_withdrawn), true) AS was_withdrawn
        FROM touched_items AS touch
        WHERE touch.namespace = erased.namespace AND touch.item_key = erased_key(erased.natural_key)
          AND touch.kind = 3 AND touch.what = 1
    ) AS before;
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_erased AFTER DELETE ON entities
    REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION touch_erased_entities();

-- Who could see an entity at any time that is remembered, as a group; also of one that is erased.
CREATE FUNCTION former_audience(name text, entity_key text) RETURNS jsonb
    LANGUAGE sql STABLE
AS $$
    SELECT joined_audience(coalesce(jsonb_agg(seen.labels), '[[]]'))
    FROM (
        SELECT audience_of(e.restricting) AS labels FROM entities AS e WHERE e.namespace = name AND e.natural_key = entity_key
        UNION ALL
        SELECT touch.audience -> 0 FROM touched_items AS touch
        WHERE touch.namespace = name AND touch.item_key IN (entity_key, erased_key(entity_key))
          AND touch.kind = 3 AND touch.what = 1
    ) AS seen
$$;

-- Notes facts that are erased: who could see them, and both their ends.
CREATE FUNCTION touch_erased_facts() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience, was_withdrawn, is_erased)
    SELECT erased.namespace, 2, erased.fact_id, 1,
        jsonb_build_array(
            joined_audience(jsonb_build_array(audience_of(erased.restricting)) || before.groups),
            former_audience(erased.namespace, erased.subject_key),
            CASE WHEN erased.object_key IS NULL THEN '[]' ELSE former_audience(erased.namespace, erased.object_key) END),
        erased.withdrawn AND before.was_withdrawn, true
    FROM erased CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(touch.audience -> 0), '[]') AS groups, coalesce(bool_and(touch.was_withdrawn), true) AS was_withdrawn
        FROM touched_items AS touch
        WHERE touch.namespace = erased.namespace AND touch.item_key = erased.fact_id AND touch.kind = 2 AND touch.what = 1
    ) AS before;
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_erased AFTER DELETE ON facts
    REFERENCING OLD TABLE AS erased FOR EACH STATEMENT EXECUTE FUNCTION touch_erased_facts();

-- Notes what facts and entities rested on until it was struck.
CREATE FUNCTION touch_struck_facts() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience, was_withdrawn)
    SELECT struck.namespace, 2, struck.fact_id, 2, jsonb_build_array(audience_of(o.restricting)), o.withdrawn
    FROM struck JOIN observations AS o USING (namespace, observation_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_struck AFTER DELETE ON fact_evidence
    REFERENCING OLD TABLE AS struck FOR EACH STATEMENT EXECUTE FUNCTION touch_struck_facts();
CREATE FUNCTION touch_struck_entities() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience, was_withdrawn)
    SELECT struck.namespace, 3, struck.natural_key, 2, jsonb_build_array(audience_of(o.restricting)), o.withdrawn
    FROM struck JOIN observations AS o USING (namespace, observation_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_struck AFTER DELETE ON entity_evidence
    REFERENCING OLD TABLE AS struck FOR EACH STATEMENT EXECUTE FUNCTION touch_struck_entities();

-- Notes what operators and curation say of facts and entities: that they are confirmed, or stale.
CREATE FUNCTION touch_marked() RETURNS trigger
    LANGUAGE plpgsql
AS $$
DECLARE
    mark jsonb := to_jsonb(coalesce(NEW, OLD));
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience)
    SELECT mark ->> 'namespace', (mark ->> TG_ARGV[0])::smallint, mark ->> 'item_key', 3, '[]'
    -- What is erased has no marks, and its key may not be kept.
    WHERE EXISTS (SELECT FROM facts AS f WHERE f.namespace = mark ->> 'namespace' AND f.fact_id = mark ->> 'item_key')
        OR EXISTS (SELECT FROM entities AS e WHERE e.namespace = mark ->> 'namespace' AND e.natural_key = mark ->> 'item_key');
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_marked AFTER INSERT OR UPDATE OR DELETE ON item_marks FOR EACH ROW EXECUTE FUNCTION touch_marked('kind');
CREATE TRIGGER touch_marked AFTER INSERT OR DELETE ON stale_marks FOR EACH ROW EXECUTE FUNCTION touch_marked('item_kind');

-- Notes that an entity answers as another, or no longer: seen by those who may see the other.
CREATE FUNCTION touch_merged() RETURNS trigger
    LANGUAGE plpgsql
AS $$
DECLARE
    merge entity_merges := coalesce(NEW, OLD);
BEGIN
    INSERT INTO touched_items (namespace, kind, item_key, what, audience)
    SELECT merge.namespace, 3, merge.merged_key, 3, jsonb_build_array(audience_of(canonical.restricting))
    FROM entities AS canonical
    WHERE canonical.namespace = merge.namespace AND canonical.natural_key = merge.canonical_key AND NOT canonical.withdrawn
      AND EXISTS (
        SELECT FROM entities AS e WHERE e.namespace = merge.namespace AND e.natural_key = merge.merged_key);
    RETURN NULL;
END
$$;
CREATE TRIGGER touch_merged AFTER INSERT OR UPDATE OR DELETE ON entity_merges FOR EACH ROW EXECUTE FUNCTION touch_merged();

-- Locks a namespace for a writer, shared or alone, and only then looks at what it must know of it; one round trip, because each
-- query of a volatile function sees what was committed up to then. `fact_ids`: whether stored supersessions name one of them.
CREATE FUNCTION lock_for_writing(name text, lock_key bigint, alone boolean, fact_ids text[])
    RETURNS TABLE (settings_version bigint, has_statements boolean, has_marks boolean)
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(lock_key);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(lock_key);
    END IF;
    settings_version := coalesce((SELECT max(version) FROM namespace_settings WHERE namespace = name), 0);
    has_statements := fact_ids <> '{}' AND (
        EXISTS (SELECT FROM fact_supersessions WHERE namespace = name AND old_fact_id = ANY (fact_ids))
        OR EXISTS (SELECT FROM fact_supersessions WHERE namespace = name AND new_fact_id = ANY (fact_ids)));
    has_marks := EXISTS (SELECT FROM item_marks WHERE namespace = name)
        OR EXISTS (SELECT FROM sources WHERE namespace = name AND state <> 1)
        OR EXISTS (SELECT FROM obsolete_marks WHERE namespace = name)
        OR EXISTS (SELECT FROM vault_observations WHERE namespace = name)
        OR EXISTS (SELECT FROM tombstones WHERE namespace = name)
        OR EXISTS (SELECT FROM write_guards WHERE namespace = name);
    RETURN NEXT;
END
$$;

-- Shares the lock of a namespace as a writer does, and says what writing rows without a look at stored ones would meet there:
-- `marked`, where marks act on all that is written, or the settings are not of that version; `stored`, where one of the
-- observations, of the entities that are described, or of the facts is there, or statements and links speak of one that is
-- not; else `new`. `source_kinds`, `source_ids`: by which links may wait for the described entities.
CREATE FUNCTION lock_for_new_rows(
    name text, lock_key bigint, version bigint, observation_ids text[], described text[], fact_ids text[],
    source_kinds text[], source_ids text[])
    RETURNS text
    LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    state record;
BEGIN
    state := lock_for_writing(name, lock_key, false, fact_ids);
    IF state.settings_version <> version OR state.has_marks THEN
        RETURN 'marked';
    END IF;
    IF state.has_statements
        OR EXISTS (SELECT FROM observations AS o WHERE o.namespace = name AND o.observation_id = ANY (observation_ids))
        OR EXISTS (SELECT FROM entities AS e WHERE e.namespace = name AND e.natural_key = ANY (described))
        OR fact_ids <> '{}' AND (
            EXISTS (SELECT FROM facts AS f WHERE f.namespace = name AND f.fact_id = ANY (fact_ids))
            OR EXISTS (SELECT FROM fact_retractions AS r WHERE r.namespace = name AND r.fact_id = ANY (fact_ids)))
        OR source_ids <> '{}' AND EXISTS (
            SELECT FROM unnest(source_kinds, source_ids) AS given (kind, source_id)
            JOIN link_claims AS c
                ON c.namespace = name AND c.target_kind = given.kind AND c.target_ref = given.source_id)
    THEN
        RETURN 'stored';
    END IF;
    RETURN 'new';
END
$$;

-- Ends a statement as a conflict does: what it rests on has changed since it began.
CREATE FUNCTION begin_anew() RETURNS boolean
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE serialization_failure;
END
$$;

-- The journal of snapshots.
CREATE TABLE snapshots (
    namespace text NOT NULL,
    source text NOT NULL,
    scope text NOT NULL,
    snapshot_id text NOT NULL,
    taken_at timestamptz NOT NULL,
    -- SHA-256, in hex, over its items: the same id comes with the same content only.
    content_hash text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- False: a newer one had been applied already, so that it changed nothing.
    applied boolean NOT NULL,
    -- Numbers of what it did, by their names in the answer.
    counts jsonb NOT NULL,
    PRIMARY KEY (namespace, source, scope, snapshot_id)
);
-- The newest of a scope.
CREATE INDEX snapshots_by_time ON snapshots (namespace, source, scope, taken_at DESC) WHERE applied;

-- The items that the newest snapshot of a scope has.
CREATE TABLE snapshot_items (
    namespace text NOT NULL,
    source text NOT NULL,
    scope text NOT NULL,
    entity_key text NOT NULL,
    item_hash text NOT NULL,
    -- Serialized palimpsest.v1.SnapshotItem.
    item bytea NOT NULL,
    -- relation's hash -> [fact id, start of the fact in microseconds or null]: the facts that are open.
    facts jsonb NOT NULL,
    PRIMARY KEY (namespace, source, scope, entity_key)
);
-- Whether another scope has an entity too.
CREATE INDEX snapshot_items_by_entity ON snapshot_items (namespace, entity_key);

-- Which snapshot a fact was asserted by last.
CREATE TABLE snapshot_facts (
    namespace text NOT NULL,
    fact_id text NOT NULL,
    source text NOT NULL,
    scope text NOT NULL,
    snapshot_id text NOT NULL,
    taken_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, fact_id, source, scope)
);

-- What was done that people may have to answer for (AU-1). Nothing may change or remove an event, whoever asks: triggers refuse it.
-- Rows come by `append_audit` alone. Personal data is here only as hashes and masks, for no purge reaches this table; what callers
-- tell lies in `audit_contents`.
CREATE TABLE audit_events (
    namespace text NOT NULL,
    -- From 1, without gaps.
    sequence bigint NOT NULL CHECK (sequence > 0),
    action text NOT NULL,
    actor text NOT NULL,
    target text NOT NULL,
    -- A JSON object as its caller wrote it, or empty: the hash is over its very characters.
    details text NOT NULL,
    trace_id text NOT NULL,
    recorded_at timestamptz NOT NULL,
    hash text NOT NULL,
    -- Of the event before; empty: the first.
    previous_hash text NOT NULL,
    PRIMARY KEY (namespace, sequence)
);
-- Events of one trace.
CREATE INDEX audit_events_by_trace ON audit_events (namespace, trace_id, sequence) WHERE trace_id <> '';

-- A field of the canonical form of a message: a text, which is absent where it is empty.
CREATE FUNCTION canonical_field(number integer, value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE value
        WHEN '' THEN ''
        ELSE number || '=' || octet_length(normalize(value, NFC)) || ':' || normalize(value, NFC)
    END;

-- The hash of an event, in hex, as the contract's AuditEvent tells it.
CREATE FUNCTION audit_hash(event audit_events) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT encode(sha256(convert_to(
        '16:palimpsest.audit1:1' || octet_length(normalize(event.namespace, NFC)) || ':'
        || normalize(event.namespace, NFC)
        || '{1=i' || event.sequence || ';'
        || canonical_field(2, event.action) || canonical_field(3, event.actor) || canonical_field(4, event.target)
        || canonical_field(5, event.details) || canonical_field(6, event.trace_id)
        || '7=t' || (extract(epoch FROM event.recorded_at) * 1000000)::bigint || ';'
        || canonical_field(9, event.previous_hash) || '}', 'UTF8')), 'hex')
$$;

-- The advisory lock that lets events of a namespace come one after the other. Taken last of all locks.
CREATE FUNCTION audit_lock(namespace text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('palimpsest.audit' || namespace, 0);

-- Appends an event, which is there once the transaction is; returns it. Other events of the namespace wait till then. Acts with the
-- rights of the owner of the table, so that nobody else needs any.
CREATE FUNCTION append_audit(
    namespace text, action text, actor text, target text, details text, trace_id text) RETURNS audit_events
    LANGUAGE plpgsql VOLATILE STRICT SECURITY DEFINER
AS $$
DECLARE
    event audit_events;
BEGIN
    PERFORM pg_advisory_xact_lock(audit_lock($1));
    -- After the lock: each query of a volatile function sees what was committed up to then.
    SELECT head.sequence, head.hash INTO event.sequence, event.previous_hash
    FROM audit_events AS head WHERE head.namespace = $1 ORDER BY head.sequence DESC LIMIT 1;
    event.namespace := $1;
    event.sequence := coalesce(event.sequence, 0) + 1;
    event.previous_hash := coalesce(event.previous_hash, '');
    event.action := $2;
    event.actor := $3;
    event.target := $4;
    event.details := $5;
    event.trace_id := $6;
    event.recorded_at := clock_timestamp();
    event.hash := audit_hash(event);
    INSERT INTO audit_events SELECT (event).*;
    RETURN event;
END
$$;
-- What it names is sought in this schema only, whatever its caller's path is.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION append_audit(text, text, text, text, text, text) SET search_path = pg_catalog, %I, pg_temp',
        current_schema());
END
$$;

CREATE FUNCTION refuse_change() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    RAISE insufficient_privilege USING MESSAGE = format('%s is append-only', TG_TABLE_NAME);
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- For replicating sessions, in which other triggers sleep, too.
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER append_only;

-- What callers told the audit (`AppendAudit`), beside the chain, which has a salted hash of it: so a purge can take it out, and the
-- chain still fits.
CREATE TABLE audit_contents (
    namespace text NOT NULL,
    -- Of its event.
    sequence bigint NOT NULL,
    -- Random, and gone with the content: whoever guesses what was told cannot try it against the hash.
    salt text NOT NULL,
    target text NOT NULL,
    -- As its caller wrote it.
    details text NOT NULL,
    trace_id text NOT NULL,
    -- The words of all three in normal form, with a space on either side: by which a purge finds names.
    words text NOT NULL,
    PRIMARY KEY (namespace, sequence)
);
-- Events of one trace.
CREATE INDEX audit_contents_by_trace ON audit_contents (namespace, trace_id, sequence) WHERE trace_id <> '';

-- What erasures removed, for those who asked for them (AU-3).
CREATE TABLE erasure_receipts (
    namespace text NOT NULL,
    receipt_id text NOT NULL,
    erased_at timestamptz NOT NULL,
    -- Numbers of rows, by what they were.
    counts jsonb NOT NULL,
    actor text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    -- Hash of its event in the audit.
    audit_hash text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, receipt_id)
);

-- What facts and entities rested on before it was redacted: by which a purge finds what is redacted already, and what that said.
CREATE TABLE struck_evidence (
    namespace text NOT NULL,
    -- A fact's id; of an entity's key a hash.
    item text NOT NULL,
    observation_id text NOT NULL,
    PRIMARY KEY (namespace, item, observation_id)
);
CREATE INDEX struck_evidence_by_observation ON struck_evidence (namespace, observation_id);

-- What was purged and must not come back by a late delivery. An observation's id is a hash of its identity, and all that is left.
CREATE TABLE tombstones (
    namespace text NOT NULL,
    observation_id text NOT NULL,
    -- Empty: whatever comes under the identity is kept out; else only the same content, for another may be its correction.
    content_hash text NOT NULL DEFAULT '',
    erased_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, observation_id)
);

-- Namespaces that protect personal data, or did.
CREATE TABLE personal_data_secrets (
    namespace text PRIMARY KEY,
    -- By which masks of keys are told apart, and tokens are sealed. Never leaves the services.
    secret bytea NOT NULL DEFAULT (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
    -- How far curation has marked what was stored before the protection: the last observation; NULL: all.
    marked_to text DEFAULT ''
);

-- What runs with the rights of the schema's owner, so that roles of services need none on tables themselves: what is named in it
-- is sought in this schema and where the extension is, whatever its caller's path is.
DO $$
DECLARE
    -- pg_catalog is sought first without being named, and tables are made in what is named first.
    path text := concat_ws(', ', quote_ident(current_schema()), (
        SELECT quote_ident(n.nspname)
        FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector' AND n.nspname <> current_schema()), 'pg_temp');
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['create_vector_table', 'drop_vector_table', 'leave_trace', 'take_in_words'] LOOP
        EXECUTE format('ALTER FUNCTION %I SECURITY DEFINER SET search_path = %s', one, path);
    END LOOP;
END
$$;
