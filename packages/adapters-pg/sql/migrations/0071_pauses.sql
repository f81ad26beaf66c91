-- Since when an account is paused, who paused it and why, as a stop has them; null where code of earlier releases did.
alter table {{schema}}.account
  add column paused_since timestamptz, add column paused_by text, add column pause_reason text;
