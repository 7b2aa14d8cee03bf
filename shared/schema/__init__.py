"""The database schema: `schema.sql` is the whole truth, `migrations/` the way to it, `migrate.py` walks it."""
