import { useEffect, useRef, useState } from 'react'
import { AddMenu } from '../parts/add-menu.tsx'
import { Wrong } from '../parts/fields.tsx'
import { capitalize } from '../parts/format.tsx'
import { Empty } from '../parts/states.tsx'
import type { DraftProblems, Rule, useDraft } from './draft.ts'
import { type Json, problemsBeside } from './rule-json.ts'
import type { RuleKind } from './rule-kind.ts'

interface Editing<C extends { readonly zones: readonly string[] }> {
  readonly kind: RuleKind<C>
  readonly draft: ReturnType<typeof useDraft>
  readonly problems: DraftProblems | undefined
  readonly choices: C
}

/** The entries of a draft, one below the other: in words, and as a form where somebody opens one. */
export function RuleList<C extends { readonly zones: readonly string[] }>(editing: Editing<C>) {
  const { kind, draft, choices } = editing
  const { rules } = draft
  const [opened, open] = useState<ReadonlySet<number>>(new Set())
  const [said, say] = useState('')
  const focusOn = useFocus()
  const act = (words: string, target: string) => {
    say(words)
    focusOn(target)
  }
  const add = (json: Json, behind?: number) => {
    const key = draft.add(json, behind)
    open(new Set([...opened, key]))
    act(`A ${kind.noun} was added.`, `rule-${key}`)
  }
  return (
    <div className="stack">
      <p className="visually-hidden" role="status">
        {said}
      </p>
      {rules.length === 0 ? <Empty title={kind.empty} /> : null}
      <ol className="rules">
        {rules.map((rule, at) => (
          <RuleItem
            key={rule.key}
            {...{ ...editing, rule, at, act }}
            isOpen={opened.has(rule.key)}
            onOpen={(isOpen) => {
              const others = [...opened].filter((key) => key !== rule.key)
              open(new Set(isOpen ? [...others, rule.key] : others))
            }}
            onDuplicate={() => add(rule.json, rule.key)}
          />
        ))}
      </ol>
      <div>
        <AddMenu
          label={`Add a ${kind.noun}`}
          choices={Object.keys(kind.templates).map((name) => [name, name])}
          onAdd={(name) => add(kind.templates[name] ?? {})}
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

function RuleItem<C extends { readonly zones: readonly string[] }>({
  kind,
  draft,
  problems,
  choices,
  rule: { key, json },
  at,
  act,
  isOpen,
  onOpen,
  onDuplicate,
}: Editing<C> & {
  readonly rule: Rule
  readonly at: number
  /** Says what was done, and moves the focus. */
  readonly act: (words: string, target: string) => void
  readonly isOpen: boolean
  readonly onOpen: (isOpen: boolean) => void
  readonly onDuplicate: () => void
}) {
  const { rules } = draft
  const name = String(json['name'] ?? at + 1)
  const wrong = problems?.byRule.get(key) ?? []
  const move = (by: 1 | -1) => {
    draft.move(key, by)
    const place = at + by
    const isEnd = place === (by === 1 ? rules.length - 1 : 0)
    // The button at the end can be pressed no more.
    const next = (by === 1) === isEnd ? 'up' : 'down'
    act(`${name} is number ${place + 1} of ${rules.length} now.`, `${next}-${key}`)
  }
  const remove = () => {
    const next = rules[at + 1] ?? rules[at - 1]
    draft.remove(key)
    act(`${name} was removed.`, next === undefined ? '' : `rule-${next.key}`)
  }
  const button = (words: string, label: string, onClick: () => void, isDisabled = false, id?: string) => (
    <button type="button" className="button" {...{ id, onClick }} aria-label={label} disabled={isDisabled}>
      {words}
    </button>
  )
  return (
    <li id={`rule-${key}`} tabIndex={-1} className="rule" aria-label={`${capitalize(kind.noun)} ${name}`}>
      <div className="rule-head">
        <h3>
          {at + 1}. {name}
        </h3>
        <div className="actions">
          {kind.isOrdered ? button('↑', `Move ${name} up`, () => move(-1), at === 0, `up-${key}`) : null}
          {kind.isOrdered
            ? button('↓', `Move ${name} down`, () => move(1), at === rules.length - 1, `down-${key}`)
            : null}
          {button('Duplicate', `Duplicate ${name}`, onDuplicate)}
          {button('Remove', `Remove ${name}`, remove)}
          <button
            type="button"
            className="button"
            aria-label={`${isOpen ? 'Close' : 'Edit'} ${name}`}
            aria-expanded={isOpen}
            onClick={() => onOpen(!isOpen)}
          >
            {isOpen ? 'Close' : 'Edit'}
          </button>
        </div>
      </div>
      {isOpen ? (
        <kind.Form json={json} problems={wrong} choices={choices} onChange={(next) => draft.change(key, next)} />
      ) : (
        <div className="meaning">
          <kind.Meaning json={json} />
          <Wrong of={problemsBeside(wrong, [])} />
        </div>
      )}
    </li>
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
