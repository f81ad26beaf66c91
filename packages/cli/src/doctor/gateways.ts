import type { HealthFacts } from '@outlay/adapters-pg'
import { plural } from '../output/table.ts'
import { type Finding, serious } from './finding.ts'

/** Finds transfers to gateways that no running worker has: nothing sends them elsewhere, so they wait. */
export function diagnoseGateways({ unattendedGateways }: Pick<HealthFacts, 'unattendedGateways'>): readonly Finding[] {
  return unattendedGateways.map(({ gateway, transfers, sample, since }) =>
    serious(
      'gateway_unattended',
      `${plural(transfers, 'transfer')} of the gateway "${gateway}", which no worker has: ${sample} since ${since}.`,
      `Start workers of an engine with \`gateways: { ${JSON.stringify(gateway)}: … }\`; or correct the name in the process that enqueues, and cancel these.`,
    ),
  )
}
