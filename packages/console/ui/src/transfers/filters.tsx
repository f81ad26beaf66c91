import { type FormEvent, useState } from 'react'
import { capitalize, toWords, writeMoment } from '../parts/format.tsx'
import { type Filter, partsOf, words } from './address-filter.ts'

const stages = [
  [undefined, 'All'],
  ['held', 'Held'],
  ['queued', 'Queued'],
  ['awaiting_funds', 'Awaiting funds'],
  ['submitting', 'Sending'],
  ['submitted', 'At the service'],
  ['blocked', 'Blocked'],
  ['settled', 'Settled'],
] as const

type Change = (changes: Readonly<Record<string, string | undefined>>) => void

/** The stages as a row of switches. */
export function StageTabs({ filter, set }: { readonly filter: Filter; readonly set: Change }) {
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">Stage</legend>
      {stages.map(([stage, word]) => (
        <button
          type="button"
          key={word}
          aria-pressed={filter.stage === stage}
          onClick={() => set({ stage, ...(stage === 'settled' ? {} : { status: undefined }), reason: undefined })}
        >
          {word}
        </button>
      ))}
    </fieldset>
  )
}

const texts = ['amount', 'currency', 'payee', 'accountId', 'gateway', 'reason', 'batchId'] as const
const times = ['createdAfter', 'createdBefore'] as const

/** What narrows the list, one by one, each of which can be taken away. */
export function FilterChips({ filter, set }: { readonly filter: Filter; readonly set: Change }) {
  const parts = partsOf(filter).filter(([name]) => name !== 'stage')
  if (parts.length === 0) return null
  return (
    <ul className="chips" aria-label="Filters">
      {parts.map(([name, value]) => (
        <li key={name}>
          <span className="muted">{words[name] ?? name.replace(/^metadata\[(.+)\]$/, '$1')}</span>{' '}
          {name.startsWith('created') ? writeMoment(value) : toWords(value)}
          <button type="button" aria-label={`Take the filter ${name} away`} onClick={() => set({ [name]: undefined })}>
            ×
          </button>
        </li>
      ))}
    </ul>
  )
}

/** The other filters, as a form that opens. */
export function FilterForm({ filter, set }: { readonly filter: Filter; readonly set: Change }) {
  const [isOpen, setOpen] = useState(false)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const read = (name: string) => String(form.get(name) ?? '').trim()
    const moments = times.map((name) => [name, read(name) === '' ? '' : new Date(read(name)).toISOString()] as const)
    const others = [...texts, 'status'].map((name) => [name, read(name)] as const)
    // People write thousands apart.
    set({ ...Object.fromEntries([...others, ...moments]), amount: read('amount').replaceAll(',', '') })
    setOpen(false)
  }
  return (
    <details className="more" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button">Filters</summary>
      <form key={JSON.stringify(filter)} className="more-form" onSubmit={submit}>
        {texts.map((name) => (
          <label key={name} className="field">
            <span>{capitalize(words[name] ?? name)}</span>
            <input name={name} defaultValue={String(filter[name] ?? '')} maxLength={255} />
          </label>
        ))}
        <label className="field">
          <span>Status at the service</span>
          <select name="status" defaultValue={filter.status ?? ''}>
            <option value="">any</option>
            {['pending', 'processing', 'complete', 'failed', 'canceled'].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {times.map((name) => (
          <label key={name} className="field">
            <span>Created {words[name]}</span>
            <input type="datetime-local" name={name} defaultValue={toLocal(filter[name])} />
          </label>
        ))}
        <button type="submit" className="button primary">
          Apply
        </button>
      </form>
    </details>
  )
}

/** A moment as an input of the browser has it: in its own zone, without a name of it. */
function toLocal(iso: string | undefined): string {
  if (iso === undefined) return ''
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
