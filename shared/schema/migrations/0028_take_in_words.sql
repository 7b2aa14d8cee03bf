-- phase: pre
-- Words of new passages wait in a list, which a write takes into the index of words when it is full, and its caller waits for that.
-- Takes in all of them; answers how many pages they filled.
CREATE FUNCTION take_in_words() RETURNS bigint
    LANGUAGE sql VOLATILE
AS $$ SELECT gin_clean_pending_list('passages_by_words') $$;

-- It runs with the rights of the index's owner, and seeks names as the others that do.
DO $$
DECLARE
    settings text[] := (SELECT proconfig FROM pg_proc WHERE oid = 'leave_trace'::regproc);
BEGIN
    EXECUTE format('ALTER FUNCTION take_in_words SECURITY DEFINER SET %s', replace(settings[1], '=', ' = '));
END
$$;
