# Sourced by the image of Postgres when it makes the database: the roles of the services, which `palimpsest init-db
# --roles` grants what they need, and the users that log in as their members. psql reads the names and passwords from the
# environment, so that they are no argument of any process.
psql --set ON_ERROR_STOP=1 --no-psqlrc --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\getenv writer WRITER_USERNAME
\getenv writer_password WRITER_PASSWORD
\getenv reader READER_USERNAME
\getenv reader_password READER_PASSWORD
CREATE ROLE palimpsest_writer NOLOGIN;
CREATE ROLE palimpsest_reader NOLOGIN;
CREATE ROLE :"writer" LOGIN PASSWORD :'writer_password' IN ROLE palimpsest_writer;
CREATE ROLE :"reader" LOGIN PASSWORD :'reader_password' IN ROLE palimpsest_reader;
SQL
