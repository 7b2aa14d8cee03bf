-- phase: pre

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
