import type { ReconcileOptions, Reconciliation } from '@outlay/core'
import { formatTable, plural } from '../output/table.ts'
import { withGateway } from '../session/gateway-module.ts'
import { isLockTimeout, Unfinished } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/** Compares the database with the service, through the host's own gateway. Returns the exit code: 1 while the fence stays. */
export async function runReconciliation(
  session: Session,
  gatewayModule: string,
  options: ReconcileOptions,
): Promise<number> {
  return withGateway(session, gatewayModule, async (engine) => {
    const found = await engine.reconcile({ ...options, signal: session.signal }).catch((error: unknown) => {
      if (options.dryRun === true || !isLockTimeout(error)) throw error
      // It writes account by account, and lifts the fence at the end.
      throw new Unfinished('What it had written of other accounts before stays, and the fence stays.', error)
    })
    session.write(found, () => formatReconciliation(found))
    return (!found.dryRun || found.differences.some(({ open }) => open)) && !found.lifted ? 1 : 0
  })
}

const says: Readonly<Record<Reconciliation['differences'][number]['kind'], string>> = {
  resent: 'is sent again under its key, which is alive',
  undecided: 'is kept until the keys are answered, or a person decides',
  identified: 'gets its id at the service',
  adopted: 'is adopted',
  automated: 'nothing: an automation created it',
  blocked: 'is blocked for a person',
  ended: 'stays ended; a person says whether it was paid',
  unknown_at_service: 'a person has to ask the service',
  unreadable: 'has to be read again',
}

function formatReconciliation({ differences, accounts, read, lifted, dryRun }: Reconciliation): string {
  const open = differences.filter((difference) => difference.open).length
  const sum = `${plural(accounts, 'account')}, ${plural(read, 'transfer')} read at the service, ${plural(differences.length, 'difference')}, ${open} open.`
  const table =
    differences.length === 0
      ? []
      : [
          formatTable(differences, [
            ['open', (row) => (row.open ? 'OPEN' : null)],
            ['account', (row) => row.accountId],
            ['transfer', (row) => row.transferId],
            ['at the service', (row) => row.remoteId],
            ['what is done', (row) => says[row.kind]],
            ['why', (row) => row.evidence],
          ]),
        ]
  const end = dryRun
    ? 'Nothing was changed.'
    : lifted
      ? 'The fence is lifted: transfers are sent again.'
      : 'The fence stays. Decide the open ones, with --match <transfer>=<id at the service> where you know, and run it again; or lift it with --acknowledge.'
  return [...table, sum, end].join('\n')
}
