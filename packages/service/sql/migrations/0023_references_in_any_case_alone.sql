-- concurrently: the index of references as they are written has a successor.
drop index concurrently if exists {{schema}}.rail_fact_deposit;
