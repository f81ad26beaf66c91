-- What is used of limits on sums is a number. Functions: charge_limits, fit_needs, fitting_holds, may_release, release_charged, release_fitting, return_charges, set_limits.

drop function if exists {{schema}}.fitting_holds(text, text, numeric, integer);
drop function if exists {{schema}}.release_charged(text[]);

-- An unknown amount that was counted made its sum infinite, and then no number: what is known of it counts.
alter table {{schema}}.limit_use add constraint limit_use_is_a_number check (used > '-Infinity' and used < 'Infinity') not valid;
update {{schema}}.limit_charge c set amount = 0 where c.amount = 'Infinity' or c.amount = 'NaN';
update {{schema}}.limit_use u
set used = coalesce((
  select sum(c.amount) from {{schema}}.limit_charge c where c.counter = u.counter and c.scope = u.scope and c.began_at = u.began_at), 0)
where u.used >= 'Infinity' or u.used = '-Infinity';
alter table {{schema}}.limit_use validate constraint limit_use_is_a_number;
