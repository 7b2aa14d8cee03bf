-- phase: pre

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
