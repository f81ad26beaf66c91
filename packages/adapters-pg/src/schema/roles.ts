import { checkNames } from '@outlay/core/adapter'
import { resolveNames } from './database-names.ts'

/** Names of the database roles, one for each thing that a process does with an engine. */
export interface RoleNames {
  /** Enqueues and reads transfers: the host's web processes. Default `outlay_enqueue`. */
  readonly enqueue?: string | undefined
  /** Everything but changing the schema: workers, webhook endpoints, operators. Default `outlay_worker`. */
  readonly worker?: string | undefined
  /** Owns the schemas and changes them: the deployment. Default `outlay_migrator`. */
  readonly migrator?: string | undefined
  /** Reads everything and changes nothing: dashboards, alarms, support. Default `outlay_reader`. */
  readonly reader?: string | undefined
}

/** Where the engine is, and which roles use it. */
export interface RolesOptions {
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
  /** Schema of the queue's tables. Default the engine's with `_queue` behind it. */
  readonly queueSchema?: string | undefined
  readonly roles?: RoleNames | undefined
}

/**
 * SQL that gives four roles what each needs and no more, in one transaction. Roles that are missing are made without a
 * login, to be granted to logins of yours. For a superuser, or for a login that may make roles, owns the database and is a
 * member of the migrator. Run it before the first migration and after every one: it starts from nothing each time.
 *
 * @example
 * await admin.query(rolesSql({ roles: { enqueue: 'web', worker: 'payouts' } }))
 */
export function rolesSql(options: RolesOptions = {}): string {
  checkNames(options, ['schema', 'queueSchema', 'roles'])
  const { schema, queueSchema } = resolveNames(options)
  const { enqueue, worker, migrator, reader } = quoteRoles(options.roles ?? {})
  const both = `"${schema}", "${queueSchema}"`
  return `begin;

${[enqueue, worker, migrator, reader].map(createRole).join('\n')}

-- The migrator owns both schemas and all that is in them.
do $$
declare
  v_text text;
begin
  execute format('grant create on database %I to ${migrator}', current_database());
  create schema if not exists "${schema}";
  create schema if not exists "${queueSchema}";
  alter schema "${schema}" owner to ${migrator};
  alter schema "${queueSchema}" owner to ${migrator};
  for v_text in
    select format('alter table %s owner to ${migrator}', c.oid::regclass) from pg_class c
    where c.relnamespace in ('"${schema}"'::regnamespace, '"${queueSchema}"'::regnamespace) and c.relkind in ('r', 'p', 'v')
      and c.relowner <> '${migrator}'::regrole
    union all
    select format('alter type %s owner to ${migrator}', t.oid::regtype) from pg_type t
    where t.typnamespace in ('"${schema}"'::regnamespace, '"${queueSchema}"'::regnamespace) and t.typtype in ('d', 'e')
      and t.typowner <> '${migrator}'::regrole
    union all
    select format('alter routine %s owner to ${migrator}', p.oid::regprocedure) from pg_proc p
    where p.pronamespace in ('"${schema}"'::regnamespace, '"${queueSchema}"'::regnamespace) and p.proowner <> '${migrator}'::regrole
  loop
    execute v_text;
  end loop;
end
$$;

revoke all on all tables in schema ${both} from ${enqueue}, ${worker}, ${reader};
grant usage on schema ${both} to ${enqueue}, ${worker}, ${reader};
grant execute on all functions in schema "${schema}" to ${enqueue}, ${worker}, ${reader};

-- Dashboards, alarms, support: read everything.
grant select on all tables in schema ${both} to ${reader};
alter default privileges for role ${migrator} in schema ${both} grant select on tables to ${reader};

-- Workers, webhook endpoints, operators: all but the schema. None may delete a transfer, and with it its key.
grant select, insert, update, delete on all tables in schema ${both} to ${worker};
grant usage on all sequences in schema ${both} to ${worker};
grant execute on all functions in schema "${queueSchema}" to ${worker};
alter default privileges for role ${migrator} in schema ${both} grant select, insert, update, delete on tables to ${worker};
alter default privileges for role ${migrator} in schema ${both} grant usage on sequences to ${worker};

-- Web processes: enqueue, and see what became of it.
do $$
begin
  if to_regclass('"${schema}".migration') is null then
    return;
  end if;
  revoke insert, update, delete on "${schema}".migration from ${worker};
  revoke delete on "${schema}".transfer from ${worker};
${guardPayees(`"${schema}"`, reader)}
${guardAudit(`"${schema}"`, { enqueue, worker, reader })}
  grant select, insert on "${schema}".transfer to ${enqueue};
  grant insert on "${schema}".outbox, "${schema}".event, "${schema}".delivery, "${schema}".counterparty_details, "${schema}".trace_context to ${enqueue};
${grantEnqueue(`"${schema}"`, enqueue)}
end
$$;

commit;
`
}

/**
 * Nobody but the owner of the functions writes the audit, policies, limits on sums and approvals, and nobody changes what is in them. Nor does anybody change who
 * created a transfer, or what a hold asks for.
 */
const guardAudit = (
  schema: string,
  { enqueue, worker, reader }: Readonly<Record<'enqueue' | 'worker' | 'reader', string>>,
): string => `  revoke insert, update, delete on ${schema}.audit, ${schema}.audit_chain, ${schema}.audit_chain_end from ${worker};
  revoke insert, update, delete on ${schema}.policy_version, ${schema}.policy_state, ${schema}.approval from ${worker};
  revoke insert, update, delete on ${schema}.sum_limit, ${schema}.limit_version from ${worker};
  revoke update, delete on ${schema}.transfer_creator, ${schema}.screening_answer from ${worker};
  revoke update on ${schema}.hold from ${worker};
  revoke execute on function ${schema}.record_audit, ${schema}.set_policies, ${schema}.set_limits, ${schema}.add_approval, ${schema}.move_pack
    from public, ${enqueue}, ${reader};`

/**
 * An account number can be guessed from the digest of a payee, so who only reads has neither that, nor what is on its way to another node with it, nor the function
 * that compares it. Nor the salt of the digests by which sums are counted.
 */
const guardPayees = (
  schema: string,
  reader: string,
): string => `  revoke select on ${schema}.counterparty from ${reader};
  execute (select format('grant select (%s) on ${schema}.counterparty to ${reader}', string_agg(quote_ident(a.attname), ', '))
    from pg_attribute a where a.attrelid = '${schema}.counterparty'::regclass and a.attnum > 0 and not a.attisdropped and a.attname <> 'payee');
  revoke execute on function ${schema}.registered_payees, ${schema}.payee_of, ${schema}.policy_facts from public, ${reader};
  revoke select on ${schema}.limit_salt, ${schema}.moved_row from ${reader};`

/** What stands beside a transfer. To update one column of a batch is to lock its row, in transactions of repeatable read. */
const grantEnqueue = (
  schema: string,
  role: string,
): string => `  grant select, insert on ${schema}.transfer_metadata, ${schema}.batch, ${schema}.closed_batch, ${schema}.batch_change, ${schema}.transfer_creator, ${schema}.hold to ${role};
  grant insert on ${schema}.payment_watch to ${role};
  grant update (metadata) on ${schema}.batch to ${role};
  grant select on ${schema}.subscription, ${schema}.resubmission, ${schema}.batch_count, ${schema}.paused_batch, ${schema}.batches, ${schema}.policy_state, ${schema}.policy_version, ${schema}.approval, ${schema}.screening, ${schema}.screening_answer to ${role};
  grant select on ${schema}.shard_node, ${schema}.departed_account to ${role};`

const createRole = (role: string): string => `do $$
begin
  if to_regrole('${role}') is null then
    create role ${role} nologin;
  end if;
end
$$;`

/** Names as SQL identifiers. */
function quoteRoles(names: RoleNames): Required<{ readonly [K in keyof RoleNames]: string }> {
  checkNames(names, ['enqueue', 'worker', 'migrator', 'reader'], 'roles')
  const quote = (name: string): string => {
    if (/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(name)) return `"${name}"`
    throw new Error(`A role name is letters, digits, "_" and "-", at most 63 characters; got "${name}".`)
  }
  const roles = {
    enqueue: quote(names.enqueue ?? 'outlay_enqueue'),
    worker: quote(names.worker ?? 'outlay_worker'),
    migrator: quote(names.migrator ?? 'outlay_migrator'),
    reader: quote(names.reader ?? 'outlay_reader'),
  }
  const given = Object.values(roles)
  if (new Set(given).size === given.length) return roles
  throw new Error(
    `Each part needs a role of its own, got ${given.join(', ')}; grant several of them to one login if it needs them.`,
  )
}
