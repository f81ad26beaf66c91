import { Link } from 'wouter'
import { useRead } from '../api/queries.ts'
import { DataTable } from '../parts/data-table.tsx'
import { writeAge, writeCount } from '../parts/format.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { Badge } from '../parts/status.tsx'

/** Rows that are shown. */
const mostAccounts = 200

/** Accounts with something that is not settled, that is paused or limited. */
export function AccountsPage() {
  const page = useRead('GET /accounts', { query: { limit: mostAccounts } }, { everyMs: 60_000 })
  return (
    <Page title="Accounts" lead="Those with unsettled transfers, a pause or a limit. The longest wait first.">
      <Read of={page} what="Reading accounts">
        {({ accounts }) => (
          <div className="list">
            {accounts.length === 0 ? (
              <Empty title="No account has anything under way">
                Accounts appear here while they have unsettled transfers.
              </Empty>
            ) : (
              <>
                {accounts.length < mostAccounts ? null : (
                  <p className="muted">
                    Only the {writeCount(mostAccounts)} that wait longest. A transfer of another one leads to it.
                  </p>
                )}
                <DataTable
                  caption="Accounts"
                  rows={accounts}
                  keyOf={({ accountId, gateway }) => `${accountId} ${gateway}`}
                  columns={[
                    {
                      name: 'Account',
                      cell: ({ accountId, gateway, paused }) => (
                        <span className="two-lines">
                          <span>
                            <Link href={`/accounts/${encodeURIComponent(accountId)}`} className="row-link">
                              {accountId}
                            </Link>{' '}
                            {paused ? <Badge tone="warn">paused</Badge> : null}
                          </span>
                          <span className="muted">{gateway}</span>
                        </span>
                      ),
                    },
                    { name: 'Queued', align: 'end', cell: ({ queued }) => writeCount(queued) },
                    { name: 'Held', align: 'end', isWide: true, cell: ({ held }) => writeCount(held) },
                    {
                      name: 'Awaiting funds',
                      align: 'end',
                      isWide: true,
                      cell: ({ awaitingFunds }) => writeCount(awaitingFunds),
                    },
                    {
                      name: 'At the service',
                      align: 'end',
                      isWide: true,
                      cell: ({ submitted }) => writeCount(submitted),
                    },
                    { name: 'Blocked', align: 'end', cell: ({ blocked }) => writeCount(blocked) },
                    {
                      name: 'Oldest unsent',
                      align: 'end',
                      isWide: true,
                      cell: ({ oldestUnsubmittedAt }) =>
                        oldestUnsubmittedAt === null ? '' : writeAge(oldestUnsubmittedAt),
                    },
                  ]}
                />
              </>
            )}
          </div>
        )}
      </Read>
    </Page>
  )
}
