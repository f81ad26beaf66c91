-- A secret that was replaced signs together with its successor until its time is over.
alter table {{schema}}.webhook_registration
  add column previous_secret text,
  add column previous_secret_until timestamptz,
  add constraint webhook_registration_previous_secret_ends
    check ((previous_secret is null) = (previous_secret_until is null));

comment on column {{schema}}.webhook_registration.previous_secret is 'sealed, for the column secret that it comes from';

create index webhook_registration_previous_secret on {{schema}}.webhook_registration (previous_secret_until)
  where previous_secret_until is not null;
