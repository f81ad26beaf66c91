import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Gateway } from '@outlay/core'
import type { Pool } from 'pg'
import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'

const noGateway: Gateway = {
  submit: () => Promise.reject(new Error('The comparison of the audit sends nothing.')),
  get: () => Promise.reject(new Error('The comparison of the audit reads nothing.')),
}

/** Everything that somebody did is in the chain of the audit, whatever has died, and fits it. */
export async function checkAudit({ environment }: Pick<Evidence, 'environment'>): Promise<readonly Violation[]> {
  return (await Promise.all(environment.nodes.map(({ host }) => checkChain(host)))).flat()
}

async function checkChain(host: Pool): Promise<readonly Violation[]> {
  const backend = postgres({ driver: pgDriver(host) })
  const { problems } = await createEngine({ backend, gateway: noGateway }).audit.verify()
  const { rows } = await host.query<{ readonly id: string }>(
    'select a.id::text as id from outlay.audit a where not exists (select from outlay.audit_chain c where c.audit_id = a.id) order by a.id',
  )
  return [
    ...problems.map(({ kind, position, id }) => `the entry ${id ?? position} is ${kind}`),
    ...rows.map(({ id }) => `the entry ${id} is not in the chain`),
  ].map((detail) => ({ invariant: 'audit_chained', detail }))
}
