-- phase: pre
-- The second axis of time: which change of the memory each row is as it is since, and what rows were before.

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

-- The change by which a row became as it is. 0: it was there before changes were told apart, and counts from `recorded_at`.
ALTER TABLE observations ADD COLUMN change_id bigint NOT NULL DEFAULT 0;
ALTER TABLE observations ALTER COLUMN change_id SET DEFAULT current_change_id();
ALTER TABLE entities ADD COLUMN change_id bigint NOT NULL DEFAULT 0;
ALTER TABLE entities ALTER COLUMN change_id SET DEFAULT current_change_id();
ALTER TABLE entities ADD COLUMN obsolete_at timestamptz;
ALTER TABLE facts ADD COLUMN change_id bigint NOT NULL DEFAULT 0;
ALTER TABLE facts ALTER COLUMN change_id SET DEFAULT current_change_id();
ALTER TABLE facts ADD COLUMN obsolete_at timestamptz;
ALTER TABLE facts ADD COLUMN obsolete_reason text NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN change_id bigint NOT NULL DEFAULT 0;
ALTER TABLE links ALTER COLUMN change_id SET DEFAULT current_change_id();

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

-- By which an exact text finds what says it (FA-9). Hashed: a text may be longer than an index entry.
CREATE INDEX passages_by_text ON passages (namespace, hashtextextended(normal_form(text), 0));
-- By which an exact title finds its entity (FA-9).
CREATE INDEX entities_by_title ON entities (namespace, hashtextextended(normal_form(title), 0)) WHERE title <> '';
