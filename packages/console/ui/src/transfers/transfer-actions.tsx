import { useState } from 'react'
import { call, type Place } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import { type Action, ActionDialog } from '../parts/action-dialog.tsx'
import { groupDigits } from '../parts/format.tsx'
import type { Timeline } from './timeline.ts'

/** What can be done with one transfer. */
export type Verb = 'approve' | 'reject' | 'answer' | 'hold' | 'release' | 'cancel' | 'resolve' | 'resubmit'

/** The actions that fit how it stands and what the person may do. Whether the server does it is another question. */
function fittingVerbs(
  { transfer: { stage, status, accountId, resubmittedAs }, held }: Timeline,
  may: ReturnType<typeof useMay>,
): readonly Verb[] {
  const isHeld = stage === 'held'
  const verbs: Verb[] = []
  if (may('approve', accountId) && isHeld) {
    if (held.missing.length > 0) verbs.push('approve')
    if (screeningOf(held)?.isOnHold) verbs.push('answer')
    verbs.push('reject')
  }
  if (!may('act', accountId)) return verbs
  const isBlocked = stage === 'blocked'
  if (isBlocked) verbs.push('resolve')
  if (isBlocked || stage === 'awaiting_funds' || findReleasable(held, may('approve', accountId)).length > 0)
    verbs.push('release')
  if (['queued', 'held'].includes(stage)) verbs.push('hold')
  if (['queued', 'awaiting_funds', 'held'].includes(stage)) verbs.push('cancel')
  if (stage === 'settled' && ['failed', 'canceled'].includes(status) && resubmittedAs === null) verbs.push('resubmit')
  return verbs
}

/** How the screening stands that holds a transfer. */
const screeningOf = ({ holds }: Timeline['held']) => holds.find(({ screening }) => screening !== undefined)?.screening

type Hold = Timeline['held']['holds'][number]

/** The holds that the person may end by a release: that of screening asks for more. */
const findReleasable = ({ holds }: Timeline['held'], mayApprove: boolean): readonly Hold[] =>
  holds.filter(({ name }) => name !== 'approval' && (name !== 'screening' || mayApprove))

/** Names a hold among those of a transfer. */
const keyOf = ({ name, policy = '' }: Hold): string => `${name} ${policy}`

const titles: Readonly<Record<Verb, string>> = {
  ...{
    approve: 'Approve',
    reject: 'Reject',
    answer: 'Answer screening',
    hold: 'Hold',
    release: 'Release',
    cancel: 'Cancel',
  },
  ...{ resolve: 'Resolve', resubmit: 'Resubmit' },
}

/** What was chosen, about the transfer as it was then. */
interface Chosen {
  readonly verb: Verb
  readonly of: Timeline
  /** Those that may be released. */
  readonly holds: readonly Hold[]
}

/** Buttons for what can be done, and the dialog of the one that is pressed. */
export function TransferActions({ of }: { readonly of: Timeline }) {
  const may = useMay()
  // What the person has seen: the page goes on reading while the dialog is open.
  const [chosen, choose] = useState<Chosen>()
  const [fields, setFields] = useState<Readonly<Record<string, string>>>({})
  const verbs = fittingVerbs(of, may)
  const action = chosen === undefined ? undefined : actionOf(chosen, fields)
  if (verbs.length === 0 && chosen === undefined) return null
  return (
    <>
      {verbs.map((one) => (
        <button
          key={one}
          type="button"
          className={`button${one === 'approve' || one === 'resolve' ? ' primary' : ''}`}
          onClick={() => {
            const holds = findReleasable(of.held, may('approve', of.transfer.accountId))
            // That of people, as the API ends it where it is told no other.
            setFields({ hold: holds.map(keyOf).find((key) => key === 'operator ') ?? '' })
            choose({ verb: one, of, holds })
          }}
        >
          {titles[one]}
        </button>
      ))}
      <ActionDialog action={action} onClose={() => choose(undefined)}>
        {chosen === undefined ? null : <Fields {...chosen} fields={fields} set={setFields} />}
      </ActionDialog>
    </>
  )
}

const simple = { hold: 'hold', cancel: 'cancel', reject: 'reject' } as const

function actionOf({ verb, of, holds }: Chosen, fields: Readonly<Record<string, string>>): Action {
  const { transfer } = of
  const params = { transferId: transfer.id }
  const title = `${titles[verb]} ${groupDigits(transfer.amount.value)} ${transfer.amount.currency}`
  if (verb === 'approve')
    return {
      ...{
        title,
        verb: 'Approve',
        isReasonOptional: true,
        effect: <p>Your name stands for it. With its last approval it is sent.</p>,
      },
      async run(note) {
        const body = note === '' ? {} : { note }
        const { transfer: after } = await call('POST /transfers/:transferId/approve', { params, body })
        return after.stage === 'held'
          ? 'Approved. It is still held: something is missing.'
          : 'Approved. It goes to the queue.'
      },
    }
  if (verb === 'release') return releaseAction(title, params, holds, fields)
  if (verb === 'resolve') return resolveAction(title, params, fields)
  if (verb === 'resubmit') return resubmitAction(title, params, fields)
  if (verb === 'answer') return screeningAction(title, of, fields)
  const effects = {
    hold: 'Nobody sends it until somebody releases it.',
    cancel: 'It ends as canceled. The server refuses where money may have moved.',
    reject: 'It ends as canceled, with the reason rejected.',
  }
  return {
    ...{ title, verb: titles[verb], isDangerous: verb !== 'hold', effect: <p>{effects[verb]}</p> },
    async run(reason) {
      const place = `POST /transfers/:transferId/${simple[verb]}` as const satisfies Place
      const { changed, held } = await call(place, { params, body: { reason } })
      return changed ? `${titles[verb]}: done.` : describeHeldBefore(held)
    },
  }
}

/** Says whose hold it is that somebody has put a second one on. */
function describeHeldBefore({ holds }: Timeline['held']): string {
  const first = holds.find(({ name }) => name === 'operator')
  if (first?.actor === undefined) return 'It was so before; nothing was changed.'
  return `Nothing was changed: ${first.actor} holds it since ${first.since} (${first.why}). Whoever ends that hold lets it go.`
}

const releaseAction = (
  title: string,
  params: { readonly transferId: string },
  holds: readonly Hold[],
  { hold = '' }: Readonly<Record<string, string>>,
): Action => ({
  ...{ title, verb: 'Release', isReady: holds.length === 0 || hold !== '' },
  effect: (
    <p>
      {holds.length === 0
        ? 'It returns to the queue, and is sent again with its own key.'
        : 'That hold ends. What else holds it stays; with the last of it the transfer is sent.'}
    </p>
  ),
  async run(reason) {
    const chosen = holds.find((one) => keyOf(one) === hold)
    const named = chosen && {
      ...{ hold: chosen.name as 'operator', since: chosen.since },
      ...(chosen.policy === undefined ? {} : { policy: chosen.policy }),
    }
    const { transfer: after } = await call('POST /transfers/:transferId/release', {
      params,
      body: { reason, ...named },
    })
    return after.stage === 'held' ? 'Released. Another hold is left.' : 'Released. It goes to the queue.'
  },
})

const resolveAction = (
  title: string,
  params: { readonly transferId: string },
  { remoteId = '', notPaid = '' }: Readonly<Record<string, string>>,
): Action => ({
  ...{ title, verb: 'Resolve', isDangerous: true, isReady: remoteId.trim() !== '' || notPaid === 'yes' },
  effect: <p>You say what the service says. With an id, the service is asked whether it has such a transfer.</p>,
  async run(reason) {
    const said = notPaid === 'yes' ? { notPaid: true as const } : { remoteId: remoteId.trim() }
    const { transfer } = await call('POST /transfers/:transferId/resolve', { params, body: { reason, ...said } })
    return `Resolved: it is ${transfer.status}.`
  },
})

const resubmitAction = (
  title: string,
  params: { readonly transferId: string },
  { amount = '', addressId = '', gateway = '' }: Readonly<Record<string, string>>,
): Action => ({
  ...{ title, verb: 'Resubmit', isDangerous: true },
  effect: (
    <p>A new transfer with a new key, of the same payment. You are its creator, and the policies judge it again.</p>
  ),
  async run(reason) {
    const body = {
      reason,
      ...(amount.trim() === '' ? {} : { amount: amount.trim() }),
      ...(addressId.trim() === '' ? {} : { addressId: addressId.trim() }),
      ...(gateway === '' ? {} : { gateway }),
    }
    const { transfer, reused } = await call('POST /transfers/:transferId/resubmit', { params, body })
    return reused ? `It was resubmitted before, as ${transfer.id}.` : `Resubmitted as ${transfer.id}.`
  },
})

const screeningAction = (
  title: string,
  { transfer, held }: Timeline,
  { result = '' }: Readonly<Record<string, string>>,
): Action => {
  const { asks = 0, case: named = '' } = screeningOf(held) ?? {}
  return {
    ...{ title, verb: 'Answer', isDangerous: true, isReady: result !== '' },
    effect: (
      <p>
        {named === '' ? 'It is on hold without a case.' : `It is on hold for the case ${named}.`} You decide what the
        screening has left open. Whoever created it lets nothing pass.
      </p>
    ),
    async run(reason) {
      const said = result === 'pass' ? 'pass' : 'refuse'
      const { transfer: after, changed } = await call('POST /transfers/:transferId/answer-screening', {
        params: { transferId: transfer.id },
        body: { reason, result: said, asks },
      })
      if (!changed) return `Screening holds it no more, so nothing was changed: it is ${after.status}.`
      if (said === 'refuse') return 'Refused: it ends as canceled.'
      return after.stage === 'held' ? 'Passed. Another hold is left.' : 'Passed. It goes to the queue.'
    },
  }
}

function Fields({
  verb,
  of: { transfer, otherGateways },
  holds,
  fields,
  set,
}: Chosen & {
  readonly fields: Readonly<Record<string, string>>
  readonly set: (fields: Readonly<Record<string, string>>) => void
}) {
  const put = (name: string, value: string) => set({ ...fields, [name]: value })
  const text = (name: string, label: string, hint: string) => (
    <label className="field">
      <span>
        {label} <small className="muted">{hint}</small>
      </span>
      <input value={fields[name] ?? ''} onChange={(event) => put(name, event.target.value)} maxLength={255} />
    </label>
  )
  if (verb === 'release' && holds.length > 0)
    return (
      <Choice
        label="Hold"
        value={fields['hold'] ?? ''}
        put={(value) => put('hold', value)}
        options={[
          ...(fields['hold'] === '' ? ([['', 'choose']] as const) : []),
          ...holds.map(
            (one) => [keyOf(one), `${[one.name, one.policy].filter(Boolean).join(' ')}: ${one.why}`] as const,
          ),
        ]}
      />
    )
  if (verb === 'resubmit')
    return (
      <>
        {text(
          'amount',
          'Amount',
          `leave it empty for ${groupDigits(transfer.amount.value)} ${transfer.amount.currency}`,
        )}
        {text('addressId', 'Address', 'an id of the same kind; leave it empty to pay the same one')}
        {otherGateways.length === 0 ? null : (
          <Choice
            label="Gateway"
            value={fields['gateway'] ?? ''}
            put={(value) => put('gateway', value)}
            options={[['', `${transfer.gateway}, as before`], ...otherGateways.map((name) => [name, name] as const)]}
          />
        )}
      </>
    )
  if (verb === 'answer')
    return (
      <Choice
        label="Answer"
        value={fields['result'] ?? ''}
        put={(value) => put('result', value)}
        options={[
          ['', 'choose'],
          ['pass', 'Pass: screening lets it go'],
          ['refuse', 'Refuse: it ends as canceled'],
        ]}
      />
    )
  if (verb !== 'resolve') return null
  return (
    <>
      {fields['notPaid'] === 'yes' ? null : text('remoteId', 'Id at the service', 'the service has it under this id')}
      <label className="check">
        <input
          type="checkbox"
          checked={fields['notPaid'] === 'yes'}
          onChange={(event) => put('notPaid', event.target.checked ? 'yes' : '')}
        />
        It is certain that nothing was paid, and that nothing will be. Nobody checks that.
      </label>
    </>
  )
}

/** One of a few. */
function Choice({
  label,
  value,
  put,
  options,
}: {
  readonly label: string
  readonly value: string
  readonly put: (value: string) => void
  readonly options: readonly (readonly [value: string, text: string])[]
}) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => put(event.target.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
