import type { SumLimit } from '@outlay/core'
import type { Answer } from '../api/client.ts'
import { AddMenu } from '../parts/add-menu.tsx'
import { ChoiceField, Choices, LinesField, TextField, Wrong } from '../parts/fields.tsx'
import { capitalize, groupDigits } from '../parts/format.tsx'
import {
  type Json,
  problemsAt,
  problemsBeside,
  problemsIn,
  problemsOfLines,
  readObject,
  readTexts,
  withMember,
} from '../rules/rule-json.ts'
import type { RuleFormProps } from '../rules/rule-kind.ts'

/** What the members of a limit may be. */
export type LimitChoices = Answer<'GET /limits/choices'>

/** What a limit is narrowed to. */
const lists = {
  accounts: 'Only of these accounts, one id a line',
  counterparties: "Only to these payees' addresses, one id a line",
  gateways: 'Only through these gateways, one a line',
} as const satisfies Partial<Readonly<Record<keyof SumLimit, string>>>

const listNames = Object.keys(lists) as (keyof typeof lists)[]

/** Every member of a limit has its field. */
const members = Object.keys({
  ...{ name: true, most: true, span: true, zone: true, per: true },
  ...{ accounts: true, counterparties: true, gateways: true },
} satisfies Readonly<Record<keyof SumLimit, true>>)

/** One limit as a form, with what it means beside it. */
export function LimitForm({ json, problems, choices, onChange }: RuleFormProps<LimitChoices>) {
  const set = (name: string, value: unknown) => onChange(withMember(json, name, value))
  const most = readObject(json['most'])
  const setMost = (currency: string, value: unknown) => set('most', withMember(most, currency, value))
  const per = readTexts(json['per'])
  return (
    <div className="columns">
      <div className="stack">
        <TextField
          label="Name"
          value={String(json['name'] ?? '')}
          errors={problemsIn(problems, 'name')}
          onChange={(name) => set('name', name)}
        />
        <fieldset className="condition">
          <legend>The most</legend>
          {Object.entries(most).map(([currency, value]) => (
            <div key={currency} className="row">
              <TextField
                label={currency}
                value={String(value)}
                errors={problemsIn(problems, `most.${currency}`)}
                onChange={(text) => setMost(currency, text.trim())}
              />
              <button type="button" className="button" onClick={() => setMost(currency, undefined)}>
                Remove {currency}
              </button>
            </div>
          ))}
          <AddMenu
            label="Add a currency"
            choices={choices.currencies.flatMap((name) => (Object.hasOwn(most, name) ? [] : [[name, name] as const]))}
            onAdd={(currency) => setMost(currency, '')}
          />
          <Wrong of={problemsAt(problems, 'most')} />
          <div className="row">
            <ChoiceField
              label="In a"
              value={String(json['span'] ?? '')}
              choices={choices.spans.map((span) => [span, span])}
              errors={problemsIn(problems, 'span')}
              onChange={(span) => set('span', span)}
            />
            <TextField
              label="Of this time zone"
              list="zones"
              value={String(json['zone'] ?? '')}
              errors={problemsIn(problems, 'zone')}
              onChange={(zone) => set('zone', zone.trim())}
            />
          </div>
          <fieldset>
            <legend>A sum for each of these; with none checked, one sum for all</legend>
            <Choices
              choices={choices.keys}
              chosen={per}
              onChange={(chosen) => set('per', chosen.length === 0 ? undefined : chosen)}
              errors={problemsIn(problems, 'per')}
            />
          </fieldset>
        </fieldset>
        {listNames.map((name) => (
          <LinesField
            key={name}
            label={lists[name]}
            hint="Leave empty for all"
            lines={readTexts(json[name])}
            errors={problemsOfLines(problems, name)}
            onChange={(lines) => set(name, lines.length === 0 ? undefined : lines)}
          />
        ))}
      </div>
      <div className="meaning">
        <LimitMeaning json={json} />
        <Wrong of={problemsBeside(problems, members)} />
      </div>
    </div>
  )
}

const narrowing: Readonly<Record<keyof typeof lists, string>> = {
  accounts: 'of',
  counterparties: 'to',
  gateways: 'through',
}

function describe(json: Json): string {
  const most = Object.entries(readObject(json['most'])).map(
    ([currency, value]) => `${groupDigits(String(value))} ${currency}`,
  )
  const per = readTexts(json['per'])
  const whose = per.length === 0 ? 'of the whole host' : `for each ${per.join(' and ')}`
  const only = listNames.flatMap((name) =>
    json[name] === undefined ? [] : [`${narrowing[name]} ${readTexts(json[name]).join(' or ')}`],
  )
  const narrowed = only.length === 0 ? '' : `, counting only what is ${only.join(', and ')}`
  return `at most ${most.length === 0 ? '…' : most.join(' and ')} in ${article(json['span'])} ${whose}${narrowed}. The ${String(json['span'] ?? 'span')} begins by the clock of ${String(json['zone'] ?? '…')}; what is beyond it is held.`
}

const article = (span: unknown): string => (span === 'hour' ? 'an hour' : `a ${String(span ?? '…')}`)

/** What a limit means, in words. */
export const LimitMeaning = ({ json }: { readonly json: Json }) => (
  <>
    <strong>{String(json['name'] ?? '')}</strong>
    <span>{capitalize(describe(json))}</span>
  </>
)
