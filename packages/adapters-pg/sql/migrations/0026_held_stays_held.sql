-- Only the end of its last hold sends what people hold, whatever release's code asks for it. It fires for changes between these stages alone.
create trigger transfer_stays_held before update of stage on {{schema}}.transfer for each row
  when (old.stage in ('held', 'blocked') and new.stage = 'queued') execute function {{schema}}.keep_held();
