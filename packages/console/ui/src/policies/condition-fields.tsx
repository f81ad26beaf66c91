import type { PolicyConditions } from '@outlay/core'
import type { ReactNode } from 'react'
import type { Answer } from '../api/client.ts'
import { AddMenu } from '../parts/add-menu.tsx'
import { ChoiceField, Choices, CountField, LinesField, TextField, Wrong } from '../parts/fields.tsx'
import { toWords } from '../parts/format.tsx'
import {
  type Json,
  problemsAt,
  problemsBeside,
  problemsIn,
  problemsOfLines,
  type RuleProblem,
  readObject,
  readTexts,
  withMember,
} from '../rules/rule-json.ts'
import { MetadataPairs } from './metadata-pairs.tsx'
import { dayNames } from './policy-words.ts'

/** The fields of one condition. */
export interface ConditionProps {
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly choices: Answer<'GET /policies/choices'>
  readonly problems: readonly RuleProblem[]
  /** Where it is in its policy, such as `when.time`. */
  readonly path: string
}

interface Condition {
  readonly title: string
  /** What it is when somebody adds it. */
  readonly start: (choices: ConditionProps['choices']) => unknown
  readonly Fields: (props: ConditionProps) => ReactNode
}

/** Conditions that are any of some names. */
const namesOf = (
  name: 'currencies' | 'flows' | 'rails',
  title: string,
  words?: (choice: string) => string,
): Condition => ({
  title,
  start: () => [],
  Fields: ({ value, onChange, choices, problems, path }) => (
    <Choices
      choices={choices[name]}
      chosen={readTexts(value)}
      onChange={onChange}
      errors={problemsIn(problems, path)}
      {...(words === undefined ? {} : { words })}
    />
  ),
})

/** Conditions that are any of some ids. */
const idsOf = (title: string, label: string): Condition => ({
  title,
  start: () => [],
  Fields: ({ value, onChange, problems, path }) => (
    <LinesField label={label} lines={readTexts(value)} onChange={onChange} errors={problemsOfLines(problems, path)} />
  ),
})

function Amounts({ value, onChange, choices: { currencies }, problems, path }: ConditionProps) {
  const ranges = readObject(value)
  const set = (currency: string, range: Json) => onChange(withMember(ranges, currency, range))
  return (
    <div className="stack">
      {Object.entries(ranges).map(([currency, one]) => {
        const range = readObject(one)
        const bounds = [
          ['from', `${currency}, this or more`],
          ['below', `${currency}, less than`],
        ] as const
        return (
          <div key={currency} className="row">
            {bounds.map(([name, label]) => (
              <TextField
                key={name}
                label={label}
                value={String(range[name] ?? '')}
                errors={problemsIn(problems, `${path}.${currency}.${name}`)}
                onChange={(text) =>
                  set(currency, withMember(range, name, text.trim() === '' ? undefined : text.trim()))
                }
              />
            ))}
            <button type="button" className="button" onClick={() => onChange(withMember(ranges, currency, undefined))}>
              Remove {currency}
            </button>
            <Wrong
              of={problemsBeside(
                problems.filter((at) => at.path === `${path}.${currency}`),
                [],
              )}
            />
          </div>
        )
      })}
      <AddMenu
        label="Add a currency"
        choices={currencies.flatMap((name) => (Object.hasOwn(ranges, name) ? [] : [[name, name] as const]))}
        onAdd={(currency) => set(currency, {})}
      />
      <Wrong of={problemsAt(problems, path)} />
    </div>
  )
}

function Time({ value, onChange, choices: { days }, problems, path }: ConditionProps) {
  const time = readObject(value)
  const set = (name: string, next: unknown) => onChange(withMember(time, name, next))
  return (
    <div className="stack">
      <div className="row">
        {(['from', 'to'] as const).map((name) => (
          <TextField
            key={name}
            label={name === 'from' ? 'From' : 'Until'}
            type="time"
            value={String(time[name] ?? '')}
            errors={problemsIn(problems, `${path}.${name}`)}
            onChange={(text) => set(name, text === '' ? undefined : text)}
          />
        ))}
        <TextField
          label="Time zone"
          list="zones"
          value={String(time['zone'] ?? '')}
          errors={problemsIn(problems, `${path}.zone`)}
          onChange={(text) => set('zone', text.trim())}
        />
      </div>
      <p className="hint">
        Without a time it begins and ends at midnight. A night belongs to the day on which it began.
      </p>
      <fieldset>
        <legend>On these days; with none checked, every day</legend>
        <Choices
          choices={days}
          chosen={readTexts(time['days'])}
          onChange={(chosen) => set('days', chosen.length === 0 ? undefined : chosen)}
          errors={problemsIn(problems, `${path}.days`)}
          words={(day) => dayNames[day] ?? day}
        />
      </fieldset>
      <Wrong of={problemsAt(problems, path)} />
    </div>
  )
}

/** Every condition that a policy of the engine may have. */
export const conditions: { readonly [Name in keyof PolicyConditions]-?: Condition } = {
  amounts: { title: 'Amount', start: ({ currencies }) => ({ [mostUsed(currencies)]: {} }), Fields: Amounts },
  currencies: namesOf('currencies', 'Currency'),
  flows: namesOf('flows', 'Flow', toWords),
  rails: namesOf('rails', 'Rail', toWords),
  accounts: idsOf('Account', 'Ids of accounts, one a line'),
  counterparties: idsOf('Counterparty', "Ids of payees' addresses, one a line"),
  counterpartyInFull: {
    title: 'How the payee is given',
    start: () => true,
    Fields: ({ value, onChange, problems, path }) => (
      <ChoiceField
        label="The payee is given"
        value={String(value)}
        choices={[
          ['true', 'in full'],
          ['false', 'by the id of its address'],
        ]}
        errors={problemsIn(problems, path)}
        onChange={(chosen) => onChange(chosen === 'true')}
      />
    ),
  },
  metadata: { title: 'Metadata', start: () => ({}), Fields: MetadataPairs },
  time: {
    title: 'Time of day',
    start: () => ({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone, from: '20:00', to: '06:00' }),
    Fields: Time,
  },
  newCounterparty: {
    title: 'New payee',
    start: ({ newCounterparty: [first] }) => first,
    Fields: ({ value, onChange, choices, problems, path }) => (
      <ChoiceField
        label="The payee was never paid before by"
        value={String(value)}
        choices={choices.newCounterparty.map((scope) => [scope, scopeWords[scope] ?? scope])}
        errors={problemsIn(problems, path)}
        onChange={onChange}
      />
    ),
  },
  lookalike: {
    title: 'Looks like an earlier payment',
    start: () => ({}),
    Fields: ({ value, onChange, choices: { mostDays }, problems, path }) => (
      <CountField
        label="Of the last days"
        hint={`1 to ${mostDays}; nothing is 7. The account, the payee and the amount are the same.`}
        value={readObject(value)['days']}
        errors={problemsIn(problems, path)}
        onChange={(days) => onChange(withMember(readObject(value), 'days', days))}
      />
    ),
  },
}

const scopeWords: Readonly<Record<string, string>> = { account: 'the account that pays', host: 'any account' }

const mostUsed = (currencies: readonly string[]): string =>
  currencies.includes('USD') ? 'USD' : (currencies[0] ?? 'USD')
