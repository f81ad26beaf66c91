-- A login of a worker writes no hold that asks for less than its policy, and no limits without an entry of the audit. Functions: check_hold is new; set_limits has the
-- rights of its owner; record_audit passes over a second entry of it. Run "outlay roles" again after this.
create trigger hold_asks_as_policy before insert on {{schema}}.hold for each row when (new.requirement is not null) execute function {{schema}}.check_hold();
