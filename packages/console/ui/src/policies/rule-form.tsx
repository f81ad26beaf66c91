import type { Policy } from '@outlay/core'
import type { Answer } from '../api/client.ts'
import { AddMenu } from '../parts/add-menu.tsx'
import { ChoiceField, TextField, Wrong } from '../parts/fields.tsx'
import { Badge } from '../parts/status.tsx'
import { ApprovalSteps } from './approval-steps.tsx'
import { conditions } from './condition-fields.tsx'
import { consequenceTones, describeConditions, describeConsequence } from './policy-words.ts'
import {
  type Json,
  problemsAt,
  problemsBeside,
  problemsIn,
  type RuleProblem,
  readObject,
  withMember,
} from './rule-json.ts'

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
export function RuleForm({
  policy,
  problems,
  choices,
  onChange,
}: {
  readonly policy: Json
  readonly problems: readonly RuleProblem[]
  readonly choices: Answer<'GET /policies/choices'>
  readonly onChange: (policy: Json) => void
}) {
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
                aria-label={`Remove the condition ${title}`}
                onClick={() => setWhen(name, undefined)}
              >
                Remove
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
        <Consequence {...{ policy, problems, choices, onChange, kind }} />
      </div>
      <div className="stack">
        <Meaning policy={policy} />
        <Wrong of={elsewhere} />
      </div>
    </div>
  )
}

function Consequence({
  policy,
  problems,
  choices,
  onChange,
  kind,
}: Parameters<typeof RuleForm>[0] & { readonly kind: Kind | undefined }) {
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
export function Meaning({ policy }: { readonly policy: Json }) {
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
