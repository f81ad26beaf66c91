-- concurrently: a deposit is one, in whatever case its reference is written. This fails where two deposits were credited whose references differ in
-- their case alone: find out whether they were one payment, and give one of the two facts another reference. The functions rail_fact_claim,
-- rail_fact_contradict and rail_fact_contradicted come with it.
create unique index concurrently rail_fact_deposit_in_any_case on {{schema}}.rail_fact (rail, lower(reference))
  where kind = 'deposit' and exception_reason is null;
