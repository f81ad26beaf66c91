-- Moves the virtual time on. All claims share its row, so each claim writes it last. When another claim is moving it, this does
-- nothing: the next claim makes up for it.
create or replace function {{schema}}.advance_clock(p_tag bigint) returns void language plpgsql as $$
begin
  update {{schema}}.dispatch_clock c set tag = p_tag
  from (select f.only_row from {{schema}}.dispatch_clock f where f.tag < p_tag for no key update skip locked) f
  where c.only_row = f.only_row;
end
$$;
