import { setTimeout as delay } from 'node:timers/promises'
import type { Site } from '../site/site.ts'
import type { Worker } from '../site/worker.ts'
import { exhaustConnections, lockTables, terminateSessions } from './postgres-faults.ts'
import { firstSettlement, type Recovered, readHeld, takenOver } from './recovery.ts'

/** A fault that is over, and how to wait until everything goes on. */
export interface Struck {
  /** What befell whom. */
  readonly detail: string
  /** By the clock of this machine, in milliseconds since the epoch. */
  readonly endedAtMs: number
  readonly recovered: () => Recovered
}

/** A kind of fault. */
export interface FaultKind {
  /** When the fault ends and what has to happen then, as the report says it. */
  readonly recovery: string
  /** Lets it happen, and end. `fraction` draws from the seed. */
  strike(site: Site, fraction: () => number): Promise<Struck>
}

/** A worker that is stopped for longer than its heartbeat of 10 seconds, in milliseconds. */
const frozenMs = 25_000

/** How long the network is broken, in milliseconds; requests of the workers wait for 5 seconds. */
const brokenMs = { shortest: 1_500, longest: 7_000 }

const settlement = 'until the first transfer that waited is settled'

/** Every kind of fault, by name. */
export const faultKinds = {
  worker_killed: {
    recovery: 'worker dead, until every transfer that it held is settled by another',
    async strike(site, fraction) {
      const { program } = pick(site.workers, fraction)
      const pid = await program.kill()
      const endedAtMs = Date.now()
      const held = await readHeld(site, pid)
      await program.revive()
      return {
        detail: `${program.name}, which held ${held.length}`,
        endedAtMs,
        recovered: () => takenOver(site, held, endedAtMs),
      }
    },
  },
  worker_stopped: {
    recovery: 'worker goes on after 25 s, until it settles what it claimed since',
    async strike(site, fraction) {
      const { program } = pick(site.workers, fraction)
      program.freeze()
      const held = await readHeld(site, program.pid)
      await delay(frozenMs)
      program.thaw()
      const endedAtMs = Date.now()
      const options = { pids: [program.pid], isFresh: true }
      return {
        detail: `${program.name}, which held ${held.length}`,
        endedAtMs,
        recovered: () => firstSettlement(site, endedAtMs, options),
      }
    },
  },
  service_killed: {
    recovery: `service accepts requests again, ${settlement}`,
    async strike(site) {
      await site.provider.kill()
      await site.provider.revive()
      return over(site, 'the service')
    },
  },
  writer_killed: {
    recovery: `writer started again, ${settlement}`,
    async strike(site, fraction) {
      const program = pick(site.writers, fraction)
      await program.kill()
      await program.revive()
      return over(site, program.name)
    },
  },
  postgres_crashed: {
    recovery: `Postgres accepts connections again, ${settlement}`,
    async strike(site) {
      await site.postgres.restart({ mode: 'immediate' })
      return over(site, 'Postgres, at once')
    },
  },
  sessions_terminated: {
    recovery: `last session terminated, ${settlement}`,
    async strike(site) {
      return over(site, `${await terminateSessions(site)} sessions`)
    },
  },
  connections_exhausted: {
    recovery: `connections are free again, ${settlement}`,
    async strike(site, fraction) {
      const taken = await exhaustConnections(site, drawMs(fraction))
      return over(site, `${taken} connections taken`)
    },
  },
  tables_locked: {
    recovery: `tables are free again, ${settlement}`,
    async strike(site, fraction) {
      return over(site, await lockTables(site, drawMs(fraction), fraction))
    },
  },
  service_cut: {
    recovery: 'network heals, until a worker that was cut off settles a transfer',
    strike: (site, fraction) => breakConnections(site, fraction, 'service: reset', ({ toService }) => toService.cut()),
  },
  service_silent: {
    recovery: 'requests arrive late, until a worker that was cut off settles a transfer',
    async strike(site, fraction) {
      const at = fraction() < 0.5 ? 'request' : 'response'
      const holds = new Map<Worker, { release(): void }>()
      const hold = (worker: Worker) => void holds.set(worker, worker.toService.faults.hold({ at, deliverLate: true }))
      return breakConnections(site, fraction, `service: ${at}s held`, hold, (worker) => holds.get(worker)?.release())
    },
  },
  service_errors: {
    recovery: 'service answers again, until a worker that was cut off settles a transfer',
    async strike(site, fraction) {
      const fault = fraction() < 0.5 ? ({ kind: 'refuse', status: 503 } as const) : ({ kind: 'fail_after' } as const)
      const rules = new Map<Worker, { remove(): void }>()
      const add = (worker: Worker) => void rules.set(worker, worker.toService.faults.add({ fault }))
      return breakConnections(site, fraction, `service: ${fault.kind}`, add, (worker) => rules.get(worker)?.remove())
    },
  },
  postgres_cut: {
    recovery: 'network heals, until a worker that was cut off settles a transfer',
    strike: (site, fraction) =>
      breakConnections(site, fraction, 'Postgres: reset', ({ toPostgres }) => toPostgres.cut()),
  },
  postgres_silent: {
    recovery: 'network heals, until a worker that was cut off settles a transfer',
    strike: (site, fraction) =>
      breakConnections(site, fraction, 'Postgres: silence', ({ toPostgres }) => toPostgres.stall()),
  },
} as const satisfies Record<string, FaultKind>

/** Name of a kind of fault. */
export type FaultName = keyof typeof faultKinds

function over(site: Site, detail: string): Struck {
  const endedAtMs = Date.now()
  return { detail, endedAtMs, recovered: () => firstSettlement(site, endedAtMs) }
}

/** Breaks the network of one worker, or of all of them at once, for some seconds. */
async function breakConnections(
  site: Site,
  fraction: () => number,
  what: string,
  begin: (worker: Worker) => void,
  end: (worker: Worker) => void = ({ toPostgres, toService }) => {
    toPostgres.heal()
    toService.heal()
  },
): Promise<Struck> {
  const cut = fraction() < 0.5 ? site.workers : [pick(site.workers, fraction)]
  const ms = drawMs(fraction)
  for (const worker of cut) begin(worker)
  await delay(ms)
  for (const worker of cut) end(worker)
  const endedAtMs = Date.now()
  return {
    detail: `${what}, ${cut.map(({ program }) => program.name).join(' and ')}, ${(ms / 1_000).toFixed(1)} s`,
    endedAtMs,
    recovered: () => firstSettlement(site, endedAtMs, { pids: cut.map(({ program }) => program.pid) }),
  }
}

const drawMs = (fraction: () => number): number =>
  Math.round(brokenMs.shortest + fraction() * (brokenMs.longest - brokenMs.shortest))

function pick<T>(from: readonly T[], fraction: () => number): T {
  const found = from[Math.floor(fraction() * from.length)]
  if (found === undefined) throw new Error('There is nothing to choose from.')
  return found
}
