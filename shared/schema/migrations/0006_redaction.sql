-- phase: pre
-- What an observation says plainly and what it claims are evidence of their own: a claim may leave a target.
ALTER TABLE link_evidence ADD COLUMN claimed boolean NOT NULL DEFAULT false;
UPDATE link_evidence AS evidence
SET claimed = true
FROM link_claims AS claim
WHERE claim.namespace = evidence.namespace AND claim.source_key = evidence.source_key
  AND claim.relation = evidence.relation AND claim.target_key = evidence.target_key
  AND evidence.observation_id = ANY (claim.observation_ids);
ALTER TABLE link_evidence DROP CONSTRAINT link_evidence_pkey;
ALTER TABLE link_evidence
    ADD PRIMARY KEY (namespace, source_key, relation, target_key, observation_id, claimed);
-- Whom the private parts of an observation belong to: re-projection has to give them the same labels.
ALTER TABLE observations ADD COLUMN private_to text NOT NULL DEFAULT '';
