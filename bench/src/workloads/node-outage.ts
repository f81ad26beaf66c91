import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pgDriver, type Shards, shards } from '@outlay/adapters-pg'
import { type MemoryGateway, memoryGateway, waitUntil } from '@outlay/testing'
import { Pool, type PoolClient } from 'pg'
import type { Contender, Workload } from '../contest.ts'
import { countLocks, type Database, openDatabase } from '../database.ts'
import { createHostTable, insertInvoice } from '../enqueue-host.ts'
import { measure, usageHere } from '../measurement.ts'
import { type MortalServer, openMortalServer } from '../mortal-server.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { quantile } from '../spread.ts'

/** Payouts a second of each node, those of the one that is away included. */
const perNode = 15

const nodes = ['north', 'south', 'lost'] as const
type Node = (typeof nodes)[number]

/** How the third server is for a turn; gives what brings it back. */
const outages: Readonly<Record<string, (server: MortalServer) => Promise<() => Promise<void>>>> = {
  'three servers': async () => async () => undefined,
  'one is dead': (server) => server.kill(),
  'one is frozen': (server) => server.freeze(),
}

/** Three servers as one system, of which one goes away for a turn, with its payouts still asked for. */
export const nodeOutage: Workload = {
  name: 'node-outage',
  title: `One payout of an account on one of two servers, ${perNode} a second of each, from its host's transaction to its event, with workers for all; a third server is there, dead or frozen.`,
  seconds: 20,
  async open() {
    const scene = await openScene()
    const [all, ...others] = Object.keys(outages)
    const figures = ['p50 ms', 'p99 ms', 'event p50 ms', 'statements', 'locks']
    return {
      contests: [
        {
          name: 'node-outage',
          contenders: Object.entries(outages).map(([name, begin]) => outageContender(name, begin, scene)),
          ratios: others.flatMap((of) => figures.map((figure) => ({ of, to: all ?? '', figure }))),
          references: {},
          figure: 'p50 ms',
          warmUpSeconds: 3,
        },
      ],
      close: scene.close,
    }
  },
}

interface Scene {
  readonly shards: Shards<PoolClient>
  readonly gateway: MemoryGateway
  /** Those that stay. */
  readonly databases: readonly [Database, Database]
  readonly lost: MortalServer
  /** When each transfer's event came, by its id. */
  readonly completed: Map<string, number>
  readonly numbers: { next: number }
  close(): Promise<void>
}

/** The node of the n-th transfer's account. */
const nodeOf = (accountId: string): Node => nodes[Number(accountId.slice(-3)) % nodes.length] as Node

async function openScene(): Promise<Scene> {
  const servers = [await openMortalServer(), await openMortalServer(), await openMortalServer()] as const
  const [north, south, lost] = servers
  const open = (server: MortalServer) => openDatabase(server.url, 'bench_outage', 24)
  const databases = [await open(north), await open(south)] as const
  const third = await open(lost)
  await third.disconnect()
  const pool = new Pool({ connectionString: third.url, max: 24, connectionTimeoutMillis: 2_000 })
  // It loses its connections each time that its server goes away.
  pool.on('error', () => undefined)
  for (const one of [databases[0].admin, databases[1].admin, pool]) await createHostTable(one)
  const gateway = memoryGateway({ idPrefix: randomUUID() })
  const silent = () => undefined
  const system: Shards<PoolClient> = shards({
    nodes: {
      north: { driver: pgDriver(databases[0].pool) },
      south: { driver: pgDriver(databases[1].pool) },
      lost: { driver: pgDriver(pool) },
    },
    route: nodeOf,
    engine: { gateway },
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  })
  await system.migrate()
  const completed = new Map<string, number>()
  system.subscribe('bench', ['transfer.completed'], async ({ transferId }) => {
    completed.set(transferId, performance.now())
  })
  await system.start()
  return {
    ...{ shards: system, gateway, databases, lost, completed, numbers: { next: 1 } },
    async close() {
      await system.stop()
      await pool.end()
      for (const database of databases) await database.close()
      for (const server of servers) await server.close()
    },
  }
}

const outageContender = (
  name: string,
  begin: (server: MortalServer) => Promise<() => Promise<void>>,
  scene: Scene,
): Contender => ({
  name,
  async round(seconds) {
    const { databases, completed, gateway } = scene
    completed.clear()
    const usage = usageHere(() => databases.reduce((sum, { statements }) => sum + statements(), 0))
    const end = await begin(scene.lost)
    const asked: Asked = { committed: new Map(), ofLost: new Set(), refused: 0, locks: 0, waitingForLost: [] }
    const measured = await measure(databases[0].admin, usage, () => askFor(seconds, scene, asked))
    await end()
    // What was sent to a frozen server is answered when that goes on.
    await Promise.all(asked.waitingForLost)
    await waitUntil(() => [...asked.committed.keys(), ...asked.ofLost].every((id) => completed.has(id)), {
      timeoutMs: 120_000,
      describe: 'the events of all that was committed',
    })
    const sent = gateway.submissions.map(({ transferId }) => transferId)
    const twice = [...gateway.transfers.values()].length - new Set(sent).size
    if (twice !== 0) throw new Error(`${twice} transfers took effect twice.`)
    const waits = [...asked.committed].map(([id, at]) => Math.max(0, (completed.get(id) ?? Number.NaN) - at))
    const figures = {
      'event p50 ms': quantile(waits, 0.5),
      'event p99 ms': quantile(waits, 0.99),
      locks: asked.locks,
      'refused for the lost': asked.refused,
    }
    // The log and the processor time of one server of two would say half.
    return { ...measured, serverCpuUs: null, figures: { ...measured.figures, ...figures } }
  },
})

interface Asked {
  /** When each transfer of the nodes that stay was committed, by its id. */
  readonly committed: Map<string, number>
  readonly ofLost: Set<string>
  /** Payouts that the third node did not take. */
  refused: number
  /** Requests of the third node, which may hang for longer than the turn. */
  readonly waitingForLost: Promise<void>[]
  /** Locks that the last transaction of a node that stays held at its end. */
  locks: number
}

/** Asks for payouts at a steady rate. A refusal of a node that stays ends the run. */
async function askFor(seconds: number, scene: Scene, asked: Asked) {
  const latenciesMs: number[] = []
  const pending: Promise<void>[] = []
  const perSecond = perNode * nodes.length
  const startedAt = performance.now()
  for (let turn = 0; turn < seconds * perSecond; turn += 1) {
    await sleep(Math.max(0, startedAt + (turn * 1_000) / perSecond - performance.now()))
    const n = scene.numbers.next++
    const request = sampleTransfer(n)
    if (nodeOf(request.accountId) === 'lost') asked.waitingForLost.push(askLost(scene, asked, n))
    else pending.push(askOther(scene, asked, n, latenciesMs))
  }
  await Promise.all(pending)
  return { operations: latenciesMs.length, latenciesMs }
}

const transact = ({ shards: system }: Scene, n: number, atEnd?: (tx: PoolClient) => Promise<void>): Promise<string> => {
  const request = sampleTransfer(n)
  return system.transaction(request.accountId, async (tx) => {
    await tx.query(insertInvoice(n))
    const { id } = await system.transfers.enqueue(tx, request)
    await atEnd?.(tx)
    return id
  })
}

const askLost = (scene: Scene, asked: Asked, n: number): Promise<void> =>
  transact(scene, n).then(
    (id) => void asked.ofLost.add(id),
    () => {
      asked.refused += 1
    },
  )

async function askOther(scene: Scene, asked: Asked, n: number, latenciesMs: number[]): Promise<void> {
  const from = performance.now()
  const countAtEnd = async (tx: PoolClient) => {
    asked.locks = await countLocks(tx)
  }
  const id = await transact(scene, n, n % 50 === 0 ? countAtEnd : undefined)
  const now = performance.now()
  latenciesMs.push(now - from)
  asked.committed.set(id, now)
}
