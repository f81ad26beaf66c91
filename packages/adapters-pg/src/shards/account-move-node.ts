import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'
import { askPatiently } from './account-move-question.ts'

/** The sum of the digests of rows. */
const digest = (rows: string) =>
  `coalesce(sum(('x' || substr(md5(concat_ws(' ', ${rows}.kind, ${rows}.key, ${rows}.content::text)), 1, 15))::bit(60)::bigint), 0)::text`

const texts = {
  name: 'select n.name as id from {{schema}}.shard_node n',
  depart: 'select {{schema}}.move_depart($1, $2, $3::bigint, $4, $5) as state',
  expect: 'select {{schema}}.move_expect($1, $2, $3::bigint, $4, $5) as state',
  back: 'select {{schema}}.move_back($1, $2, $3::bigint, $4) as state',
  pack: 'select p.packed, p.last_key from {{schema}}.move_pack($1, $2::bigint, $3, $4, $5) p',
  pack_rest: 'select {{schema}}.move_pack_rest($1, $2::bigint, $3, $4) as count',
  pack_end: 'select {{schema}}.move_pack_end($1, $2::bigint) as table_name',
  left: 'select {{schema}}.move_left($1, $2) as table_name',
  hand_over: 'select {{schema}}.move_hand_over($1, $2::bigint) as state',
  open: 'select {{schema}}.move_open($1, $2::bigint) as state',
  place_of:
    'select d.version::text as version, d.state, d.to_node from {{schema}}.departed_account d where d.account_id = $1',
  kinds: 'select m.kind as id from {{schema}}.moved_row m where m.account_id = $1 group by m.kind order by m.kind',
  receive: 'select {{schema}}.move_receive($1, $2::bigint, $3, $4, $5) as is_done',
  replace: 'select {{schema}}.move_replace($1, $2::bigint, $3, $4, $5, $6, $7) as is_done',
  arrive: 'select {{schema}}.move_arrive($1, $2::bigint) as state',
  forget: 'select {{schema}}.move_forget($1, $2::bigint, $3) as is_done',
  peek: 'select p.kind, p.key, p.content from {{schema}}.move_peek($1, $2, $3) p',
  unpack: 'select {{schema}}.move_unpack($1, $2::bigint, $3, $4) as count',
  discard: 'select {{schema}}.move_discard($1, $2::bigint, $3, $4) as count',
  end_move: 'select {{schema}}.move_end($1, $2::bigint, $3, $4) as is_done',
  horizon: 'select pg_snapshot_xmax(pg_current_snapshot())::text as horizon',
  // Transactions whose snapshot may be older than the horizon. Processes of the server itself, such as autovacuum, have no user; not every role may see their type.
  snapshots: `select distinct l.virtualtransaction as holder, a.pid from pg_stat_activity a
    join pg_locks l on l.pid = a.pid and l.locktype = 'virtualxid' and l.granted
    where a.datname = current_database() and a.pid <> pg_backend_pid() and age(a.backend_xmin) > age($1::text::xid8::xid)
      and a.usesysid is not null and coalesce(a.backend_type, '') <> 'walsender'`,
  // Transactions that have asked whether an account may be written to, or is watched.
  readers: `select distinct l.virtualtransaction as holder, l.pid from pg_locks l
    where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.relation in ('{{schema}}.departed_account'::regclass, '{{schema}}.watched_account'::regclass)`,
  shared_batch: `select b.id from {{schema}}.transfer t join {{schema}}.batch b on b.id = t.batch_id
    where t.account_id = $1 and t.batch_id is not null and b.account_id is null and b.completed_at is null limit 1`,
  // Nothing to compare where the node has no transfer of the account, as nearly always.
  taken_key: `select t.idempotency_key as id from {{schema}}.moved_row m cross join lateral (
      select o.idempotency_key from {{schema}}.transfer o where o.id = m.key
      union all
      select o.idempotency_key from {{schema}}.transfer o
      where o.account_id = $1 and o.idempotency_key = m.content -> 0 ->> 'idempotency_key'
      union all
      select o.idempotency_key from {{schema}}.transfer o
      where o.account_id = $1 and o.remote_id = m.content -> 0 ->> 'remote_id' and o.gateway = m.content -> 0 ->> 'gateway'
    ) t
    where m.account_id = $1 and m.kind = 'transfer' and exists (select from {{schema}}.transfer o where o.account_id = $1) limit 1`,
  rows: `select m.kind, m.key, m.content::text as content from {{schema}}.moved_row m
    where m.account_id = $1 and m.kind = $2 and m.key > $3 and ($4::text is null or m.key <= $4) order by m.key`,
  ranges: `select c.kind, max(c.key) as last_key, count(*)::integer as count, ${digest('c')} as digest
    from (
      select m.kind, m.key, m.content, (row_number() over (partition by m.kind order by m.key) - 1) / $2::integer as part
      from {{schema}}.moved_row m where m.account_id = $1
    ) c group by c.kind, c.part order by c.kind, c.part`,
  digests_of: `select d.count, d.digest from unnest($2::text[], $3::text[], $4::text[]) with ordinality as r (kind, after_key, last_key, at)
    cross join lateral (
      select count(*)::integer as count, ${digest('m')} as digest from {{schema}}.moved_row m
      where m.account_id = $1 and m.kind = r.kind and m.key > r.after_key and (r.last_key is null or m.key <= r.last_key)
    ) d order by r.at`,
  digests: `select m.kind, count(*)::integer as count,
      ${digest('m')} as digest
    from {{schema}}.moved_row m where m.account_id = $1 group by m.kind order by m.kind`,
  description: `select (select n.name from {{schema}}.shard_node n) as name,
      (select string_agg(m.name, ' ' order by m.name) from {{schema}}.migration m where m.name ~ '^\\d') as migrations,
      (select k.environment from {{schema}}.known_database k) as environment,
      (select coalesce(s.state ->> 'unfamiliar', s.state ->> 'fence') is not null from (select {{schema}}.sending_state()) s (state)) as is_fenced,
      coalesce((select string_agg(concat_ws(' ', s.scope, nullif(s.name, '')), ', ' order by s.scope, s.name)
        from {{schema}}.stop s where s.scope <> 'account'), '') as stops,
      coalesce((select v.policies::text from {{schema}}.policy_state p join {{schema}}.policy_version v on v.version = p.version), '[]') as policies,
      coalesce((select v.limits::text from {{schema}}.limit_version v order by v.version desc limit 1), '[]') as limits,
      (select u.table_name from unnest({{schema}}.moved_tables()) u (table_name)
        where not has_table_privilege('{{schema}}.' || quote_ident(u.table_name), 'insert') order by 1 limit 1) as closed,
      current_user::text as role,
      array(select s.name || ' ' || array_to_string(array(select t from unnest(s.types) t order by t), ' ')
        from {{schema}}.subscription s order by s.name) as subscriptions,
      (select min(c.conrelid::regclass::text || ' (' || c.conname || ')') from pg_constraint c
        join pg_class r on r.oid = c.confrelid join pg_class f on f.oid = c.conrelid
        where c.contype = 'f' and r.relnamespace = '{{schema}}'::regnamespace and f.relnamespace <> r.relnamespace) as reference`,
} as const

/** Statements that read all rows of an account, and how long each may take, in milliseconds. */
const ofWhole: ReadonlySet<string> = new Set([
  'digests',
  'ranges',
  'digests_of',
  'taken_key',
  'shared_batch',
  'pack_end',
  'hand_over',
  'back',
  'left',
  'kinds',
])
const wholeMs = 600_000

/** Rows of an account on their way, as lists of equal length. */
export interface MovedRows {
  readonly kinds: readonly string[]
  readonly keys: readonly string[]
  readonly contents: readonly string[]
}

/** What one database knows of moves. Each method is one statement and one transaction; `undefined` means that the move has been superseded. */
export type MoveNode = ReturnType<typeof createMoveNode>

/** Makes the store of moves of one node. `move` is the id of a move, `accountId` that of its account. */
export function createMoveNode<Tx>(name: string, driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  const query = (statement: keyof typeof texts, values: readonly unknown[]) =>
    askPatiently(name, () => driver.query(sql[statement], values), ofWhole.has(statement) ? wholeMs : undefined)
  let isNamed = false
  const ask: typeof query = async (statement, values) => {
    // Exchanged connection strings would move what another node has.
    if (!isNamed) checkName(name, readFirst(readOneId, await query('name', []))?.id)
    isNamed = true
    return query(statement, values)
  }
  const first = async <T>(read: (row: Readonly<Record<string, unknown>>) => T, ...given: Parameters<typeof ask>) => {
    const found = readFirst(read, await ask(...given))
    if (found === undefined) throw new Error(`The statement ${given[0]} gave no row.`)
    return found
  }
  const count = async (...given: Parameters<typeof ask>) => (await first(readCount, ...given)).count ?? undefined
  const state = async (...given: Parameters<typeof ask>) => (await first(readState, ...given)).state ?? undefined
  const isDone = async (...given: Parameters<typeof ask>) => (await first(readDone, ...given)).isDone ?? undefined
  return {
    name,
    depart: (accountId: string, to: string, move: string, actor: string | null, reason: string | null) =>
      state('depart', [accountId, to, move, actor, reason]),
    expect: (accountId: string, move: string, actor: string | null, reason: string | null) =>
      state('expect', [accountId, name, move, actor, reason]),
    /** Lets the move go back here. `from` is the node that the account was leaving. */
    back: (accountId: string, from: string, move: string) => state('back', [accountId, from, move, from === name]),
    async pack(accountId: string, move: string, after: string, limit: number, isAll: boolean) {
      return readFirst(readPacked, await ask('pack', [accountId, move, after, limit, isAll]))
    },
    packRest: (accountId: string, move: string, part: 'first' | 'last', limit: number) =>
      count('pack_rest', [accountId, move, part, limit]),
    /** The table in which something is left, or an empty text at the end. */
    packEnd: async (accountId: string, move: string) =>
      (await first(readTable, 'pack_end', [accountId, move])).tableName ?? undefined,
    /** The first table in which something of an account is left that leaves, of what is found by the account or of what is packed first; null where there is none. */
    left: async (accountId: string, part: 'first' | 'found') =>
      (await first(readTable, 'left', [accountId, part])).tableName,
    handOver: (accountId: string, move: string) => state('hand_over', [accountId, move]),
    open: (accountId: string, move: string) => state('open', [accountId, move]),
    place: async (accountId: string) => readFirst(readNodePlace, await ask('place_of', [accountId])),
    kinds: async (accountId: string) => (await ask('kinds', [accountId])).map((row) => readOneId(row).id),
    arrive: (accountId: string, move: string) => state('arrive', [accountId, move]),
    unpack: (accountId: string, move: string, at: 'unpacking' | 'returning', limit: number) =>
      count('unpack', [accountId, move, at, limit]),
    discard: (accountId: string, move: string, at: 'handed_over' | 'departed', limit: number) =>
      count('discard', [accountId, move, at, limit]),
    end: (accountId: string, move: string, at: string, end: 'here' | 'departed') =>
      isDone('end_move', [accountId, move, at, end]),
    horizon: async () => (await first(readHorizon, 'horizon', [])).horizon,
    snapshots: async (horizon: string) => (await ask('snapshots', [horizon])).map(readHolder),
    readers: async () => (await ask('readers', [])).map(readHolder),
    sharedBatch: async (accountId: string) => readFirst(readOneId, await ask('shared_batch', [accountId]))?.id,
    takenKey: async (accountId: string) => readFirst(readOneId, await ask('taken_key', [accountId]))?.id,
    ...createCopies(ask, isDone),
    /** What it has that the other node needs, too. Refuses another database than that of the first statement, as behind an address that has changed. */
    async describe() {
      const { name: found, ...description } = await first(readDescription, 'description', [])
      checkName(name, found ?? undefined)
      return description
    },
  }
}

type Ask = (statement: keyof typeof texts, values: readonly unknown[]) => Promise<readonly Row[]>

/** What copies rows to a node, and compares them. */
function createCopies(ask: Ask, isDone: (...given: Parameters<Ask>) => Promise<boolean | undefined>) {
  return {
    async receive(accountId: string, move: string, { kinds, keys, contents }: MovedRows) {
      return (await isDone('receive', [accountId, move, kinds, keys, contents])) === true
    },
    /** Keeps packed rows of a table in place of those that are between these keys. */
    async replace(accountId: string, move: string, { kind, after, last }: RowRange, { keys, contents }: MovedRows) {
      return (await isDone('replace', [accountId, move, kind, after, last, keys, contents])) === true
    },
    forget: async (accountId: string, move: string, kind: string) =>
      (await isDone('forget', [accountId, move, kind])) === true,
    /** Ended transfers of the next keys as they would be packed, and the last of these keys, null at the end. */
    async peek(accountId: string, after: string, limit: number) {
      const rows = (await ask('peek', [accountId, after, limit])).map((row) => readPeeked(row))
      const last = rows.find(({ kind }) => kind === null)?.key ?? null
      return {
        rows: columnsOf(
          rows.flatMap(({ kind, key, content }) => (kind === null ? [] : [{ kind, key, content: content ?? '' }])),
        ),
        last,
      }
    },
    rows: async (accountId: string, { kind, after, last }: RowRange) =>
      columnsOf((await ask('rows', [accountId, kind, after, last])).map((row) => readRow(row))),
    /** The rows of each table in parts of so many, in the order of their keys. */
    parts: async (accountId: string, size: number) =>
      (await ask('ranges', [accountId, size])).map((row) => readPart(row)),
    /** The same of the rows that are between these keys here. */
    partsAt: async (accountId: string, ranges: readonly RowRange[]) => {
      const columns = [ranges.map(({ kind }) => kind), ranges.map(({ after }) => after), ranges.map(({ last }) => last)]
      return (await ask('digests_of', [accountId, ...columns])).map((row) => readSum(row))
    },
    digests: async (accountId: string) => (await ask('digests', [accountId])).map((row) => readDigest(row)),
  }
}

/** Rows as lists of equal length. */
const columnsOf = (
  rows: readonly { readonly kind: string; readonly key: string; readonly content: string }[],
): MovedRows => ({
  kinds: rows.map(({ kind }) => kind),
  keys: rows.map(({ key }) => key),
  contents: rows.map(({ content }) => content),
})

function checkName(name: string, found: string | undefined): void {
  if (found === name) return
  const what = found === undefined ? 'has no name yet; run migrate() of the shards once' : `is the node "${found}"`
  const message = `The database that is configured as the node "${name}" ${what}.`
  throw new OutlayError('wrong_node', message, { field: `nodes.${name}` })
}

/** Rows of one table behind one key and up to another one; without an end where that is null. */
export interface RowRange {
  readonly kind: string
  readonly after: string
  readonly last: string | null
}

/** Where a node stands with an account, and since which move. */
export interface NodePlace {
  readonly version: string
  readonly state: string
  readonly toNode: string
}

/** A transaction that something waits for. */
export interface Holder {
  readonly holder: string
  /** Null for a prepared transaction. */
  readonly pid: number | null
}

const readCount = rowDecoder('move', { count: Column.nullable(Column.integer) })
const readState = rowDecoder('move', { state: Column.nullable(Column.text) })
const readDone = rowDecoder('move', { isDone: Column.nullable(Column.boolean) })
const readPacked = rowDecoder('move', { packed: Column.integer, lastKey: Column.nullable(Column.text) })
const readHorizon = rowDecoder('move', { horizon: Column.text })
const readHolder = rowDecoder('transaction', { holder: Column.text, pid: Column.nullable(Column.integer) })
const readOneId = rowDecoder('move', { id: Column.text })
const readSum = rowDecoder('move', { count: Column.integer, digest: Column.text })
const readPart = rowDecoder('move', {
  kind: Column.text,
  lastKey: Column.text,
  count: Column.integer,
  digest: Column.text,
})
const readPeeked = rowDecoder('move', {
  kind: Column.nullable(Column.text),
  key: Column.text,
  content: Column.nullable(Column.text),
})
const readRow = rowDecoder('move', { kind: Column.text, key: Column.text, content: Column.text })
const readDigest = rowDecoder('move', { kind: Column.text, count: Column.integer, digest: Column.text })
const readTable = rowDecoder('move', { tableName: Column.nullable(Column.text) })
const readNodePlace = rowDecoder('node', { version: Column.text, state: Column.text, toNode: Column.text })
const readDescription = rowDecoder('node', {
  name: Column.nullable(Column.text),
  migrations: Column.nullable(Column.text),
  environment: Column.nullable(Column.text),
  isFenced: Column.boolean,
  stops: Column.text,
  policies: Column.text,
  limits: Column.text,
  closed: Column.nullable(Column.text),
  role: Column.text,
  subscriptions: Column.texts,
  reference: Column.nullable(Column.text),
})
