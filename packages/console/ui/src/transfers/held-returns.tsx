import { useState } from 'react'
import { call } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import { ActionButtons, type Offer } from '../parts/action-buttons.tsx'
import { Moment } from '../parts/format.tsx'
import { Panel } from '../parts/page.tsx'
import { Badge } from '../parts/status.tsx'
import type { Timeline } from './timeline.ts'

type Return = Timeline['returns'][number]

const problems: Readonly<Record<string, string>> = {
  not_complete: 'The transfer never was complete here.',
  amount_unknown: 'The service does not say how much.',
  other_currency: 'It is in another currency than the transfer.',
  exceeds_transfer: 'With what came back before, it is more than was paid.',
  decided_before:
    'The service shows an earlier return no more that a person has decided about: this may be its correction.',
}

/** Money that came back in contradiction to the transfer: no handler has got it, and a person decides. */
export function HeldReturns({ of: { returns, transfer } }: { readonly of: Timeline }) {
  const may = useMay()
  const held = returns.filter(({ problem, resolvedAt }) => problem !== null && resolvedAt === null)
  if (held.length === 0) return null
  return (
    <Panel title="What came back and contradicts it">
      <ul className="plain">
        {held.map((one) => (
          <li key={one.identity}>
            <Badge tone="bad">{one.code}</Badge> {writeAmount(one)} <Moment at={one.seenAt} brief />{' '}
            <span className="muted">{problems[one.problem ?? ''] ?? one.problem} No handler has got it.</span>{' '}
            {may('act', transfer.accountId) ? <Decide of={one} transfer={transfer} /> : null}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const writeAmount = ({ amount, currency }: Return): string =>
  amount === null ? 'of an unknown amount' : `${amount} ${currency ?? ''}`.trim()

function Decide({ of: one, transfer }: { readonly of: Return; readonly transfer: Timeline['transfer'] }) {
  const [amount, setAmount] = useState('')
  const { currency } = transfer.amount
  const params = { transferId: transfer.id }
  const decide = async (body: { readonly reason: string; readonly amount?: string; readonly dismissed?: true }) => {
    const said = body.amount === undefined ? {} : { currency }
    await call('POST /transfers/:transferId/resolve-return', {
      params,
      body: { identity: one.identity, ...body, ...said },
    })
  }
  const offers: readonly Offer[] = [
    {
      ...{ label: 'It came back', title: `What came back: ${one.code}`, verb: 'Book it', isDangerous: true },
      effect: <p>Your handlers get the event “returned” with this amount, once.</p>,
      isReady: amount.trim() !== '' || (one.amount !== null && one.currency === currency),
      fields: (
        <label className="field">
          <span>
            Amount in {currency}{' '}
            <small className="muted">
              {one.amount !== null && one.currency === currency
                ? `leave it empty for ${writeAmount(one)}`
                : 'what came back'}
            </small>
          </span>
          <input
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
            maxLength={64}
            inputMode="decimal"
          />
        </label>
      ),
      async run(reason) {
        await decide({ reason, amount: amount.trim() === '' ? (one.amount ?? '') : amount.trim() })
        return 'Booked. Handlers get the event “returned”.'
      },
    },
    {
      ...{ label: 'Dismiss', title: `Dismiss: ${one.code}`, verb: 'Dismiss it', isDangerous: true },
      effect: <p>Nothing came back by it. No handler gets it, and it stays in the timeline with your reason.</p>,
      async run(reason) {
        await decide({ reason, dismissed: true })
        return 'Dismissed. No handler gets it.'
      },
    },
  ]
  return <ActionButtons offers={offers} about={`${one.code}, ${writeAmount(one)}`} />
}
