import type { Answer } from '../api/client.ts'
import { capitalize, toWords } from './format.tsx'

/** How something stands: its colour, beside the words that say the same. */
export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'idle'

/** A word with its colour. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: React.ReactNode }) {
  return (
    <span className={`badge ${tone}`}>
      <span className="dot" aria-hidden="true" />
      {children}
    </span>
  )
}

type Transfer = Answer<'GET /transfers'>['transfers'][number]

const stageTones: Readonly<Record<string, Tone>> = {
  ...{ queued: 'idle', held: 'warn', submitting: 'busy', awaiting_funds: 'warn', submitted: 'busy', blocked: 'bad' },
}
const statusTones: Readonly<Record<string, Tone>> = { complete: 'good', failed: 'bad', canceled: 'idle' }
const stageWords: Readonly<Record<string, string>> = { submitting: 'Sending', submitted: 'At the service' }

/** Says in two words where a transfer stands. */
function describeState({ stage, status, reason }: Pick<Transfer, 'stage' | 'status' | 'reason'>): {
  readonly tone: Tone
  readonly main: string
  readonly detail: string | null
} {
  if (stage === 'settled')
    return {
      tone: statusTones[status] ?? 'idle',
      main: capitalize(status),
      detail: reason === null ? null : toWords(reason),
    }
  const detail = reason ?? (stage === 'submitted' ? status : null)
  const main = stageWords[stage] ?? capitalize(toWords(stage))
  return { tone: stageTones[stage] ?? 'idle', main, detail: detail === null ? null : toWords(detail) }
}

/** Where a transfer stands. */
export function TransferState(transfer: Pick<Transfer, 'stage' | 'status' | 'reason'>) {
  const { tone, main, detail } = describeState(transfer)
  return (
    <span className="state-of">
      <Badge tone={tone}>{main}</Badge>
      {detail === null ? null : <span className="muted">{detail}</span>}
    </span>
  )
}

/** Who is paid, as far as it may be shown. */
export function Payee({ destination }: Pick<Transfer, 'destination'>) {
  const { counterparty, addressId, transferType } = destination
  return (
    <span className="two-lines">
      {counterparty === null ? (
        <span className="mono ellipsis" title={addressId ?? ''}>
          {addressId ?? 'unknown'}
        </span>
      ) : (
        <span className="ellipsis">
          {counterparty.name} <span className="muted">•••• {counterparty.lastFour}</span>
        </span>
      )}
      <span className="muted">{toWords(transferType)}</span>
    </span>
  )
}
