import { call } from '../api/client.ts'
import { useRead } from '../api/queries.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Moment, Money, writeCount } from '../parts/format.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import type { RuleKind } from '../rules/rule-kind.ts'
import { Versions } from '../rules/versions.tsx'
import { type LimitChoices, LimitForm, LimitMeaning } from './limit-form.tsx'

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone

const kind: RuleKind<LimitChoices> = {
  ...{ noun: 'limit', nouns: 'limits', isOrdered: false, empty: 'No sum is limited' },
  afterwards: 'What a limit holds goes by itself where it fits then.',
  templates: {
    'A day of the whole host': { name: 'daily', most: { USD: '100000' }, span: 'day', zone },
    'A day of each account': { name: 'daily-account', most: { USD: '25000' }, span: 'day', zone, per: ['account'] },
    'A month to each payee': { name: 'payee', most: { USD: '50000' }, span: 'month', zone, per: ['counterparty'] },
    'An hour through each gateway': { name: 'hourly', most: { USD: '10000' }, span: 'hour', zone, per: ['gateway'] },
  },
  useVersion: (version) =>
    useRead(
      'GET /limits',
      { query: version === undefined ? {} : { version } },
      { keep: true, select: ({ limits, ...others }) => ({ ...others, list: limits }) },
    ),
  useChoices: () => useRead('GET /limits/choices', {}),
  set: (list, expectedVersion, reason) => {
    const clear = list.length === 0 ? { clear: true } : {}
    return call('PUT /limits', { body: { limits: [...list], expectedVersion, reason, ...clear } })
  },
  Form: LimitForm,
  Meaning: LimitMeaning,
}

/** The limits on sums, what is used of them now, their earlier versions, and a form that replaces them. */
export function LimitsPage() {
  const uses = useRead('GET /limits/uses', {}, { everyMs: 60_000 })
  return (
    <Page
      title="Limits"
      lead="The most that may leave in an hour, a day or a month. What is beyond it is held when a worker is about to send it."
    >
      <Versions kind={kind} />
      <Panel title="Used now" isFlush>
        <Read of={uses} what="Reading what is used">
          {({ uses: rows }) =>
            rows.length === 0 ? (
              <Empty title="Nothing is counted now">A sum appears here when something of it was sent.</Empty>
            ) : (
              <DataTable
                caption="What is used of the limits"
                rows={rows}
                keyOf={({ limit, currency, of }) => JSON.stringify([limit, currency, of])}
                columns={[
                  { name: 'Limit', cell: ({ limit }) => <strong>{limit}</strong> },
                  {
                    name: 'Of',
                    cell: ({ of }) => (Object.keys(of).length === 0 ? 'the whole host' : Object.values(of).join(', ')),
                  },
                  {
                    name: 'Used',
                    align: 'end',
                    cell: ({ used, currency }) => <Money value={used} currency={currency} />,
                  },
                  {
                    name: 'Most',
                    align: 'end',
                    isWide: true,
                    cell: ({ most, currency }) => <Money value={most} currency={currency} />,
                  },
                  { name: 'Holds', align: 'end', cell: ({ held }) => writeCount(held) },
                  { name: 'Until', isWide: true, cell: ({ until }) => <Moment at={until} brief /> },
                ]}
              />
            )
          }
        </Read>
      </Panel>
    </Page>
  )
}
