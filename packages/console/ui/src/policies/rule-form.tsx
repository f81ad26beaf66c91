import type { Policy } from '@outlay/core'
import type { Answer } from '../api/client.ts'
import { AddMenu } from '../parts/add-menu.tsx'
import { ChoiceField, TextField, Wrong } from '../parts/fields.tsx'
import { Badge } from '../parts/status.tsx'
import { type Json, problemsAt, problemsBeside, problemsIn, readObject, withMember } from '../rules/rule-json.ts'
import type { RuleFormProps } from '../rules/rule-kind.ts'
import { ApprovalSteps } from './approval-steps.tsx'
import { conditions } from './condition-fields.tsx'
import { consequenceTones, describeConditions, describeConsequence } from './policy-words.ts'

/** What the members of a policy may be. */
export type PolicyChoices = Answer<'GET /policies/choices'>

type Kind = Exclude<keyof Policy, 'name' | 'when' | 'inOrder'>

const kinds: Readonly<Record<Kind, string>> = {
  approvals: 'ask for approval',
  hold: 'hold it until somebody releases it',
  screen: 'screen it before it is sent',
  refuse: 'refuse it',
}

const kindNames = Object.keys(kinds) as Kind[]
const conditionNames = Object.keys(conditions) as (keyof typeof conditions)[]

/** One policy as a form, with what it means beside it. */
export function RuleForm({ json: policy, problems, choices, onChange }: RuleFormProps<PolicyChoices>) {
  const when = readObject(policy['when'])
  const names = Object.keys(when).filter((name) => Object.hasOwn(conditions, name)) as (keyof typeof conditions)[]
  const kind = kindNames.find((one) => policy[one] !== undefined)
  const shown = ['name', ...(kind === undefined ? [] : [kind]), ...(kind === 'approvals' ? ['inOrder'] : [])]
  const elsewhere = problemsBeside(problems, [...shown, ...names.map((name) => `when.${name}`)])
  const setWhen = (name: string, value: unknown) => {
    const next = withMember(when, name, value)
    onChange(withMember(policy, 'when', Object.keys(next).length === 0 ? undefined : next))
  }
  return (
    <div className="columns">
      <div className="stack">
        <TextField
          label="Name"
          value={String(policy['name'] ?? '')}
          errors={problemsIn(problems, 'name')}
          onChange={(name) => onChange(withMember(policy, 'name', name))}
        />
        {names.map((name) => {
          const { title, Fields } = conditions[name]
          return (
            <fieldset key={name} className="condition">
              <legend>{title}</legend>
              <Fields
                value={when[name]}
                onChange={(value) => setWhen(name, value)}
                choices={choices}
                problems={problems}
                path={`when.${name}`}
              />
              <button
                type="button"
                className="button"
                aria-label={`Remove this condition: ${title}`}
                onClick={() => setWhen(name, undefined)}
              >
                Remove this condition
              </button>
            </fieldset>
          )
        })}
        <AddMenu
          label="Add a condition"
          choices={conditionNames.flatMap((name) =>
            Object.hasOwn(when, name) ? [] : [[name, conditions[name].title] as const],
          )}
          onAdd={(name) => setWhen(name, conditions[name].start(choices))}
        />
        <Consequence {...{ json: policy, problems, choices, onChange, kind }} />
      </div>
      <div className="meaning">
        <Meaning json={policy} />
        <Wrong of={elsewhere} />
      </div>
    </div>
  )
}

function Consequence({
  json: policy,
  problems,
  choices,
  onChange,
  kind,
}: RuleFormProps<PolicyChoices> & { readonly kind: Kind | undefined }) {
  const change = (next: Kind) => {
    const others = Object.fromEntries(
      Object.entries(policy).filter(([name]) => !(name in kinds) && (name !== 'inOrder' || next === 'approvals')),
    )
    const text = kind === undefined || kind === 'approvals' ? '' : policy[kind]
    onChange({ ...others, [next]: next === 'approvals' ? [{ count: 1 }] : text })
  }
  return (
    <fieldset className="condition">
      <legend>Then</legend>
      <ChoiceField
        label="What it asks"
        value={kind ?? ''}
        choices={kindNames.map((one) => [one, kinds[one]])}
        errors={[]}
        onChange={(next) => change(next as Kind)}
      />
      {kind === 'approvals' ? (
        <ApprovalSteps {...{ policy, problems, choices, onChange }} />
      ) : kind === undefined ? null : (
        <TextField
          label="Why"
          value={String(policy[kind])}
          errors={problemsAt(problems, kind)}
          onChange={(text) => onChange(withMember(policy, kind, text))}
        />
      )}
    </fieldset>
  )
}

/** What a policy means, in words. */
export function Meaning({ json: policy }: { readonly json: Json }) {
  const { kind, words } = describeConsequence(policy)
  return (
    <>
      <span>
        <Badge tone={consequenceTones[kind]}>{kind}</Badge> <strong>{String(policy['name'] ?? '')}</strong>
      </span>
      <span>
        <span className="muted">When</span> {describeConditions(policy)}
      </span>
      <span>
        <span className="muted">then</span> {words}
      </span>
    </>
  )
}
