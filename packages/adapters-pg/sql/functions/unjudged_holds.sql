-- What holds a transfer that code without policies has enqueued while there are some. No other operator's hold names a policy.
create or replace function {{schema}}.unjudged_holds() returns jsonb language sql immutable as $$
  select '[{"name": "operator", "policy": "unjudged", "why": "It was enqueued by a release that knows no policies."}]'::jsonb
$$;
