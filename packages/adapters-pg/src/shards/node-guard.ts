import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, type Statement, statements } from '../database/statement.ts'
import type { CitusPin } from './citus-pin.ts'

const texts = {
  node_name: 'select n.name from {{schema}}.shard_node n',
  record_name: `with recorded as (
      insert into {{schema}}.shard_node (name) values ($1) on conflict do nothing returning name
    )
    select coalesce((select r.name from recorded r), (select n.name from {{schema}}.shard_node n)) as name`,
  moving: 'select m.is_moving from (select {{schema}}.is_moving($1) as is_moving) m where m.is_moving',
  may_stop: 'select s.may from (select {{schema}}.may_stop($1, $2) as may) s where s.may',
  refusals: `select r.account_id, r.refusal from (
      select a.account_id, {{schema}}.node_refusal($1, a.account_id) as refusal
      from (select distinct u.account_id from unnest($2::text[]) as u (account_id)) a
    ) r where r.refusal is not null order by r.account_id limit 1`,
} as const

/** Knows the name that a database has among the nodes, and refuses transactions of others. */
export interface NodeGuard<Tx> {
  /** The driver of a node, whose enqueues check in the same statement whether they are there, and touch the pin before, where the node has one. */
  driver(node: string, driver: Driver<Tx>, pin?: CitusPin<Tx>): Driver<Tx>
  /** Name of the node whose transaction it is; undefined where the database has none. */
  nameOf(tx: Tx): Promise<string | undefined>
  /**
   * Refuses a transaction of another node than that of the accounts, and accounts that have left it.
   * @throws OutlayError `wrong_node`, `account_moving`
   */
  check(tx: Tx, node: string, accountIds: readonly string[]): Promise<void>
  /**
   * The same for what stops or pauses an account: whoever does so is not sent away while transfers of the account are sent here, though it leaves or arrives.
   * @throws OutlayError `wrong_node`, `account_moving`
   */
  checkStopping(tx: Tx, node: string, accountId: string, how: 'stop' | 'pause'): Promise<void>
  /** The same for an account outside of a transaction, as it is committed. */
  checkCommitted(driver: Driver<Tx>, node: string, accountId: string): Promise<void>
  /** True while a transfer is between two nodes, as this one has it: in a transaction of it, or as it is committed. */
  isMoving(on: { readonly tx: Tx } | { readonly driver: Driver<Tx> }, transferId: string): Promise<boolean>
  /**
   * Records the name of a node in its database, the first time.
   * @throws OutlayError `wrong_node` when the database has another name
   */
  recordName(node: string, driver: Driver<Tx>): Promise<void>
}

/** Makes the guard. `any` is the driver of any node: it runs a statement in whatever transaction it is given. */
export function createNodeGuard<Tx>(any: Driver<Tx>, tokens: Readonly<Record<string, string>>): NodeGuard<Tx> {
  const sql = statements(tokens, texts)
  const refuse = (node: string, rows: readonly Row[]) => {
    const found = readFirst(readRefusal, rows)
    if (found !== undefined) throw wrongNode(node, found.accountId, found.refusal)
  }
  const check: NodeGuard<Tx>['check'] = async (tx, node, accountIds) =>
    refuse(node, await any.execute(tx, sql.refusals, [node, accountIds]))
  return {
    check,
    async checkStopping(tx, node, accountId, how) {
      try {
        await check(tx, node, [accountId])
      } catch (error) {
        if (!OutlayError.is(error, 'account_moving')) throw error
        if ((await any.execute(tx, sql.may_stop, [accountId, how === 'pause'])).length === 0) throw error
      }
    },
    checkCommitted: async (driver, node, accountId) =>
      refuse(node, await driver.query(sql.refusals, [node, [accountId]])),
    async isMoving(on, transferId) {
      const rows =
        'tx' in on
          ? await any.execute(on.tx, sql.moving, [transferId])
          : await on.driver.query(sql.moving, [transferId])
      return rows.length > 0
    },
    driver: (node, driver, pin) => guardDriver(node, driver, (tx, accountIds) => check(tx, node, accountIds), pin),
    nameOf: async (tx) => readFirst(readName, await any.execute(tx, sql.node_name, []))?.name,
    async recordName(node, driver) {
      const recorded = readFirst(readRecorded, await driver.query(sql.record_name, [node]))?.name
      // Another process has recorded it at this moment.
      const found = recorded ?? readFirst(readName, await driver.query(sql.node_name, []))?.name
      if (found === node) return
      const message = `The database that is configured as the node "${node}" is the node "${found}"; check which connection string belongs to which name. If this database was copied from "${found}" on purpose, name it with "update ${tokens['schema']}.shard_node set name = '${node}'".`
      throw new OutlayError('wrong_node', message, { field: `nodes.${node}` })
    },
  }
}

/** Position of the account in the values of an enqueue: of one, and of many. */
const accountAt = 2

/** A driver whose enqueues are refused in other databases than that of the node. */
function guardDriver<Tx>(
  node: string,
  driver: Driver<Tx>,
  check: (tx: Tx, accountIds: readonly string[]) => Promise<void>,
  pin: CitusPin<Tx> | undefined,
): Driver<Tx> {
  const guarded = new Map<string, Statement>()
  const guardedOf = (statement: Statement) => {
    const known = guarded.get(statement.name)
    if (known !== undefined) return known
    const made = guardStatement(statement)
    guarded.set(statement.name, made)
    return made
  }
  const touch = async (tx: Tx, accountIds: readonly string[]) => {
    try {
      await pin?.write(tx)
    } catch (error) {
      // A transaction of another node has the pin elsewhere, and is refused as such.
      if (OutlayError.is(error, 'wrong_node')) await check(tx, accountIds)
      throw error
    }
  }
  return {
    ...driver,
    async execute(tx, statement, values) {
      if (writesMany.test(statement.text)) {
        const accountIds = values[accountAt] as readonly string[]
        await check(tx, accountIds)
        await touch(tx, accountIds)
        return driver.execute(tx, statement, values)
      }
      if (!call.test(statement.text)) return driver.execute(tx, statement, values)
      if (pin !== undefined) await touch(tx, [String(values[accountAt])])
      const rows = await driver.execute(tx, guardedOf(statement), [...values, node])
      const refusal = refusalOf(rows[0])
      if (refusal === undefined) return rows
      throw wrongNode(node, String(values[accountAt]), refusal)
    },
  }
}

/** What stands in place of the time of a written transfer: that no batch may have it keeps its trace from being written, too. */
const refused = 'batch node '

/**
 * The call of whichever function writes one transfer, with the comparison of facts around it, if any: a statement that is forgotten here would write anywhere,
 * and where an account is not, its facts are none.
 */
const call =
  /coalesce\('facts ' \|\| "\w+"\.other_facts\([^()]*\), "\w+"\.enqueue_one\w*\([^()]*\)\)|"\w+"\.enqueue_one\w*\([^()]*\)/

/** The call of whichever function writes many. */
const writesMany = /"\w+"\.enqueue_many\w*\(/

/**
 * The same enqueue behind a check. `coalesce` evaluates what is behind a value that is not null under no circumstances, so a refused
 * enqueue writes nothing, costs no round trip and leaves the transaction usable.
 */
function guardStatement({ name, text }: Statement): Statement {
  const last = Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
  const [, schema] = /("\w+")\.enqueue_one/.exec(text) ?? []
  const made = text.replace(
    call,
    (enqueue) => `coalesce('${refused}' || ${schema}.node_refusal($${last + 1}::text, $${accountAt + 1}), ${enqueue})`,
  )
  if (made === text) throw new Error(`The statement ${name} has another form than the guard of nodes knows.`)
  return { name: `${name}_at`, text: made }
}

function refusalOf(row: Row | undefined): string | undefined {
  const written = row?.['written']
  return typeof written === 'string' && written.startsWith(refused) ? written.slice(refused.length) : undefined
}

/** The refusal of what is about an account that is between two nodes. */
export const accountMoving = (accountId: string): OutlayError =>
  new OutlayError(
    'account_moving',
    `The account ${accountId} moves to another node at this moment, so nothing was written; roll back, and try again in a few seconds.`,
    { field: 'accountId' },
  )

/** The refusal of a transaction of another node, or of an account that has left. */
function wrongNode(node: string, accountId: string, refusal: string): OutlayError {
  const [what, name = ''] = refusal.split(/ (.*)/s)
  const where = `The account ${accountId} is on the node "${node}"`
  switch (what) {
    case 'departed': {
      const message = `The account ${accountId} has left the node "${node}" for "${name}", so nothing was written; roll back, and begin again with a transaction of the node that nodeOf() gives now.`
      return new OutlayError('wrong_node', message, { field: 'accountId' })
    }
    case 'moving':
      return accountMoving(accountId)
    case 'other':
      return new OutlayError(
        'wrong_node',
        `${where}, and tx is a transaction of the node "${name}", so nothing was written; begin one on "${node}", as with transaction(accountId, work).`,
        { field: 'tx' },
      )
    default:
      return new OutlayError(
        'wrong_node',
        `${where}, and tx is a transaction of a database without a name, so nothing was written; run migrate() or start() of the shards once, which names each node.`,
        { field: 'tx' },
      )
  }
}

const readName = rowDecoder('node', { name: Column.text })
const readRecorded = rowDecoder('node', { name: Column.nullable(Column.text) })
const readRefusal = rowDecoder('node', { accountId: Column.text, refusal: Column.text })
