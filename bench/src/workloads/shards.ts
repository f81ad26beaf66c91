import { type Directory, directory, pgDriver, postgres, type Shards, shards } from '@outlay/adapters-pg'
import { createEngine, type Gateway } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { Contender, Contest, Workload } from '../contest.ts'
import { countLocks, type Database, inTransaction, openDatabase } from '../database.ts'
import { createHostTable, insertInvoice } from '../enqueue-host.ts'
import { type Measurement, measure, usageHere } from '../measurement.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { readServerTimeUs } from '../server-time.ts'

const nodeCounts = [1, 2, 4]
const clients = 8

const closedGateway: Gateway = {
  submit: () => Promise.reject(new Error('Nothing is sent in this workload.')),
  get: () => Promise.resolve(undefined),
}

/** The same enqueue over one, two and four databases of a server, and the routes of many accounts. */
export const shardsWorkload: Workload = {
  name: 'shards',
  title: `One host transaction as in enqueue, ${clients} clients, over databases of one server; then the route of one account.`,
  seconds: 3,
  size: 1_000_000,
  async open(serverUrl, accounts) {
    const closing: (() => Promise<void>)[] = []
    const numbers = { next: 1 }
    const contenders = [await openEngine(serverUrl, numbers, closing)]
    for (const count of nodeCounts) contenders.push(await openNodes(serverUrl, count, numbers, closing))
    return {
      contests: [enqueues(contenders), await routes(serverUrl, accounts, closing)],
      close: async () => {
        for (const close of closing.reverse()) await close()
      },
    }
  },
}

const enqueues = (contenders: readonly Contender[]): Contest => ({
  name: `${clients} clients`,
  contenders,
  ratios: [
    { of: '1 node', to: 'one engine' },
    { of: '1 node', to: 'one engine', figure: 'server µs', atMost: 1.1 },
    { of: '1 node', to: 'one engine', figure: 'statements', atMost: 1 },
    { of: '4 nodes', to: '1 node', figure: 'statements', atMost: 1 },
    { of: '4 nodes', to: '1 node', figure: 'locks', atMost: 1 },
    { of: '4 nodes', to: '1 node', figure: 'server µs' },
  ],
  references: {},
  warmUpSeconds: 1,
})

type Transact = (n: number, atEnd?: (client: PoolClient) => Promise<void>) => Promise<void>

async function openEngine(serverUrl: string, numbers: { next: number }, closing: (() => Promise<void>)[]) {
  const database = await openDatabase(serverUrl, 'bench_shards_alone', clients)
  closing.push(database.close)
  await createHostTable(database.admin)
  const engine = createEngine({ backend: postgres({ driver: pgDriver(database.pool) }), gateway: closedGateway })
  await engine.migrate()
  return contender('one engine', [database], numbers, (n, atEnd) =>
    inTransaction(database.pool, async (client) => {
      await client.query(insertInvoice(n))
      await engine.transfers.enqueue(client, sampleTransfer(n))
      await atEnd?.(client)
    }),
  )
}

async function openNodes(
  serverUrl: string,
  count: number,
  numbers: { next: number },
  closing: (() => Promise<void>)[],
) {
  const databases: Database[] = []
  for (let at = 0; at < count; at += 1) {
    const database = await openDatabase(serverUrl, `bench_shards_${count}_${at}`, clients)
    closing.push(database.close)
    await createHostTable(database.admin)
    databases.push(database)
  }
  const one: Shards<PoolClient> = shards({
    nodes: Object.fromEntries(databases.map(({ pool }, at) => [`node-${at}`, { driver: pgDriver(pool) }])),
    route: (accountId) => `node-${Number(accountId.slice(-3)) % count}`,
    engine: { gateway: closedGateway },
  })
  await one.migrate()
  return contender(count === 1 ? '1 node' : `${count} nodes`, databases, numbers, async (n, atEnd) => {
    const request = sampleTransfer(n)
    const { name } = await one.nodeOf(request.accountId)
    const database = databases[Number(name.slice('node-'.length))] as Database
    await inTransaction(database.pool, async (client) => {
      await client.query(insertInvoice(n))
      await one.transfers.enqueue(client, request)
      await atEnd?.(client)
    })
  })
}

function contender(
  name: string,
  databases: readonly Database[],
  numbers: { next: number },
  transact: Transact,
): Contender {
  const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0)
  const serverUs = async () => {
    const all = await Promise.all(databases.map(({ admin }) => readServerTimeUs(admin)))
    return all.some((one) => one === null) ? null : sum(all.map((one) => one ?? 0))
  }
  const count = async (text: string) => sum(await Promise.all(databases.map((database) => database.count(text))))
  return {
    name,
    async round(seconds): Promise<Measurement> {
      const [first] = databases
      if (first === undefined) throw new Error('There is no database.')
      const locks = await locksAtEnd(transact, numbers)
      const transfers = await count('select count(*) from outlay.transfer')
      const usage = usageHere(() => sum(databases.map(({ statements }) => statements())))
      const before = await serverUs()
      const measured = await measure(first.admin, usage, () => enqueueFor(seconds, transact, numbers))
      const after = await serverUs()
      const written = (await count('select count(*) from outlay.transfer')) - transfers
      if (written !== measured.operations)
        throw new Error(`${name}: ${measured.operations} commits left ${written} transfers.`)
      const serverCpuUs = before === null || after === null ? null : (after - before) / measured.operations
      return { ...measured, serverCpuUs, figures: { locks } }
    },
  }
}

async function enqueueFor(seconds: number, transact: Transact, numbers: { next: number }) {
  const endsAt = performance.now() + seconds * 1000
  const latenciesMs: number[] = []
  const client = async () => {
    for (let from = performance.now(); from < endsAt; ) {
      await transact(numbers.next++)
      const now = performance.now()
      latenciesMs.push(now - from)
      from = now
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return { operations: latenciesMs.length, latenciesMs }
}

/** Locks that a transaction holds at its end. */
async function locksAtEnd(transact: Transact, numbers: { next: number }): Promise<number> {
  let locks = 0
  await transact(numbers.next++, async (client) => {
    locks = await countLocks(client)
  })
  return locks
}

/** Accounts that a process has used before. */
const cached = 50_000

async function routes(serverUrl: string, accounts: number, closing: (() => Promise<void>)[]): Promise<Contest> {
  const contenders: Contender[] = []
  for (const [size, name] of [
    [Math.min(cached, accounts), 'few'],
    [accounts, 'many'],
  ] as const) {
    const database = await openDatabase(serverUrl, `bench_directory_${name}`, clients)
    closing.push(database.close)
    const route = directory({ pool: database.pool, maxAgeMs: 86_400_000 })
    const uncached = directory({ pool: database.pool, cacheSize: 1 })
    closing.push(route.close, uncached.close)
    await route.migrate()
    await database.admin.query(
      `insert into outlay_directory.account (account_id, node) select 'account-' || n, 'node-' || n % 4 from generate_series(0, $1 - 1) n`,
      [size],
    )
    await database.admin.query('vacuum analyze outlay_directory.account')
    await route.listen()
    const known = Math.min(cached, size)
    for (let n = 0; n < known; n += 1) await route.find(`account-${n}`)
    contenders.push(routeContender(`cached, of ${size}`, database, route, known, 1_000))
    contenders.push(routeContender(`read, of ${size}`, database, uncached, size, 1))
  }
  const [, fewRead, many, manyRead] = contenders.map(({ name }) => name)
  return {
    name: 'route',
    contenders,
    ratios: [
      { of: many ?? '', to: 'aim', figure: 'CPU µs a call', atMost: 1 },
      { of: manyRead ?? '', to: fewRead ?? '', figure: 'µs a call', atMost: 1.5 },
    ],
    references: { aim: 2 },
    figure: 'µs a call',
    warmUpSeconds: 1,
  }
}

/** Calls that follow each other, without a promise where the route is cached. */
function routeContender(
  name: string,
  { admin, statements }: Database,
  route: Directory,
  accounts: number,
  burst: number,
) {
  const ids = Array.from({ length: accounts }, (_, n) => `account-${n}`)
  let next = 0
  const work = async (seconds: number) => {
    const startedAt = performance.now()
    const before = process.cpuUsage()
    let calls = 0
    while (performance.now() - startedAt < seconds * 1000) {
      for (let n = 0; n < burst; n += 1) {
        next = (next + 7_919) % accounts
        const found = route.find(ids[next] as string)
        if (typeof found !== 'string') await found
      }
      calls += burst
    }
    // Processor time says little about what else the machine does.
    const { user, system } = process.cpuUsage(before)
    const figures = {
      'µs a call': ((performance.now() - startedAt) * 1000) / calls,
      'CPU µs a call': (user + system) / calls,
    }
    return { operations: calls, latenciesMs: null, figures }
  }
  return { name, round: (seconds: number) => measure(admin, usageHere(statements), () => work(seconds)) }
}
