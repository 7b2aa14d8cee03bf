-- phase: pre
-- A dump is restored under an empty search path, in which the function behind a generated column of passages did not find
-- another one: no dump with a passage in it could be restored.

ALTER FUNCTION lexemes(text) SET search_path FROM CURRENT;
