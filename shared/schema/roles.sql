-- What the roles of services may do in this schema, and no more. {writer} and {reader} are roles, {schema} is the schema.
-- To be run by the owner of the schema, again after each upgrade; whatever was granted before gives way.

-- name: has_role
-- Whether there is a role of that name.
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1);

-- name: create_role
-- One that nobody can log in as: who may is made a member of it.
CREATE ROLE {role} NOLOGIN;

-- name: take_away
-- Nobody makes things here but the owner; what the two had is given anew below.
REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;
REVOKE ALL ON SCHEMA {schema} FROM {writer}, {reader};
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {writer}, {reader}, PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {writer}, {reader};

-- name: grant_reading
-- Both read everything.
GRANT USAGE ON SCHEMA {schema} TO {writer}, {reader};
GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {writer}, {reader};

-- name: grant_writing
-- The writer writes rows, but for the audit, which grows by a function, and the history of the schema. What callers told the audit it
-- adds and erases.
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {writer};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {writer};
REVOKE INSERT, UPDATE, DELETE ON audit_events, schema_migrations FROM {writer};
REVOKE UPDATE ON audit_contents FROM {writer};

-- name: grant_functions
-- What runs with the owner's rights is for those who need it.
REVOKE EXECUTE ON FUNCTION leave_trace, append_audit, create_vector_table, drop_vector_table, take_in_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION leave_trace TO {reader};
GRANT EXECUTE ON FUNCTION append_audit TO {writer}, {reader};
GRANT EXECUTE ON FUNCTION create_vector_table, drop_vector_table, take_in_words TO {writer};

-- name: grant_tables_to_come
-- Those of vectors above all, which the owner's function makes.
ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {writer}, {reader};
ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT INSERT, UPDATE, DELETE ON TABLES TO {writer};
ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {writer};
