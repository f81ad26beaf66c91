import { useEffect, useRef, useState } from 'react'
import type { Answer } from '../api/client.ts'
import { AddMenu } from '../parts/add-menu.tsx'
import { Empty } from '../parts/states.tsx'
import type { DraftProblems, useDraft } from './draft.ts'
import { RuleForm } from './rule-form.tsx'
import type { Json } from './rule-json.ts'

/** What a policy may begin as. */
const templates: Readonly<Record<string, Json>> = {
  'Four eyes': { name: 'large', when: { amounts: { USD: { from: '10000' } } }, approvals: [{ count: 1 }] },
  'At night': {
    name: 'at-night',
    when: { time: { zone: 'Europe/Berlin', from: '20:00', to: '06:00' } },
    hold: 'somebody checks it in the morning',
  },
  'New payee': { name: 'new-payee', when: { newCounterparty: 'account' }, approvals: [{ count: 1 }] },
  'Paid twice': { name: 'paid-twice', when: { lookalike: { days: 7 } }, hold: 'is it paid twice?' },
  Screening: { name: 'screening', screen: 'the list of sanctions' },
  Refuse: { name: 'no-wires', when: { rails: ['wire'] }, refuse: 'no wires' },
  'An empty one': { name: 'policy', approvals: [{ count: 1 }] },
}

/** The policies of a draft, one below the other. */
export function RulesForm({
  draft,
  problems,
  choices,
}: {
  readonly draft: ReturnType<typeof useDraft>
  readonly problems: DraftProblems | undefined
  readonly choices: Answer<'GET /policies/choices'>
}) {
  const { rules } = draft
  const [said, say] = useState('')
  const focusOn = useFocus()
  const act = (words: string, target: string) => {
    say(words)
    focusOn(target)
  }
  const add = (policy: Json, behind?: number) => {
    const key = draft.add(policy, behind)
    act('A policy was added.', `rule-${key}`)
  }
  return (
    <div className="stack">
      <p className="visually-hidden" role="status">
        {said}
      </p>
      {rules.length === 0 ? <Empty title="Nothing is held or refused any more" /> : null}
      <ol className="rules">
        {rules.map(({ key, policy }, at) => {
          const name = String(policy['name'] ?? at + 1)
          const move = (by: 1 | -1) => {
            draft.move(key, by)
            const isLast = by === 1 ? at + 1 === rules.length - 1 : at === 1
            act(
              `${name} is number ${at + by + 1} of ${rules.length} now.`,
              `${isLast === (by === 1) ? 'up' : 'down'}-${key}`,
            )
          }
          return (
            <li key={key} id={`rule-${key}`} tabIndex={-1} className="rule" aria-label={`Policy ${name}`}>
              <div className="rule-head">
                <h3>
                  {at + 1}. {name}
                </h3>
                <div className="actions">
                  <button
                    type="button"
                    className="button"
                    id={`up-${key}`}
                    aria-label={`Move ${name} up`}
                    disabled={at === 0}
                    onClick={() => move(-1)}
                  >
                    ↑
                  </button>
                  <button
                    type="button"
                    className="button"
                    id={`down-${key}`}
                    aria-label={`Move ${name} down`}
                    disabled={at === rules.length - 1}
                    onClick={() => move(1)}
                  >
                    ↓
                  </button>
                  <button
                    type="button"
                    className="button"
                    aria-label={`Duplicate ${name}`}
                    onClick={() => add(policy, key)}
                  >
                    Duplicate
                  </button>
                  <button
                    type="button"
                    className="button"
                    aria-label={`Remove ${name}`}
                    onClick={() => {
                      draft.remove(key)
                      const next = rules[at + 1] ?? rules[at - 1]
                      act(`${name} was removed.`, next === undefined ? '' : `rule-${next.key}`)
                    }}
                  >
                    Remove
                  </button>
                </div>
              </div>
              <RuleForm
                policy={policy}
                problems={problems?.byRule.get(key) ?? []}
                choices={choices}
                onChange={(next) => draft.change(key, next)}
              />
            </li>
          )
        })}
      </ol>
      <div>
        <AddMenu
          label="Add a policy"
          choices={Object.keys(templates).map((name) => [name, name])}
          onAdd={(name) => add(templates[name] ?? {})}
        />
      </div>
      <datalist id="zones">
        {choices.zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </div>
  )
}

/** Moves the focus to what is there after the next change. */
function useFocus(): (id: string) => void {
  const wanted = useRef('')
  useEffect(() => {
    if (wanted.current === '') return
    document.getElementById(wanted.current)?.focus()
    wanted.current = ''
  })
  return (id) => {
    wanted.current = id
  }
}
