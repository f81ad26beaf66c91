import { useState } from 'react'
import type { Answer } from '../api/client.ts'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { Moment } from '../parts/format.tsx'
import { Panel } from '../parts/page.tsx'
import { setPolicies } from './policies-page.tsx'
import { Trial } from './policy-trial.tsx'
import { describeChange, describeConditions, describeConsequence, type PolicyData } from './policy-words.ts'

type Current = Answer<'GET /policies'>

type ReadText =
  | { readonly policies: readonly Record<string, unknown>[]; readonly problem?: undefined }
  | { readonly policies?: undefined; readonly problem: string }

/** Reads the text of the editor as far as a browser can: the server checks what the members mean. */
function readPolicies(text: string): ReadText {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return { problem: error instanceof Error ? `It is no JSON: ${error.message}` : 'It is no JSON.' }
  }
  if (!Array.isArray(json)) return { problem: 'It has to be a list of policies.' }
  for (const [at, one] of json.entries()) {
    if (typeof one !== 'object' || one === null || Array.isArray(one))
      return { problem: `Entry ${at + 1} is no policy.` }
    const { name, approvals, hold, screen, refuse } = one as Readonly<Record<string, unknown>>
    if (typeof name !== 'string') return { problem: `Entry ${at + 1} has no name.` }
    if ([approvals, hold, screen, refuse].filter((kind) => kind !== undefined).length !== 1)
      return { problem: `"${name}" needs exactly one of approvals, hold, screen and refuse.` }
  }
  const names = json.map(({ name }: { name: string }) => name)
  const twice = names.find((name, at) => names.indexOf(name) < at)
  if (twice !== undefined) return { problem: `Two policies are called "${twice}".` }
  return { policies: json as readonly Record<string, unknown>[] }
}

const templates = {
  'Four eyes': { name: 'large', when: { amounts: { USD: { from: '10000' } } }, approvals: [{ count: 1 }] },
  'At night': {
    name: 'at-night',
    when: { time: { zone: 'Europe/Berlin', from: '20:00', to: '06:00' } },
    hold: 'somebody checks it in the morning',
  },
  'New payee': {
    name: 'new-payee',
    when: { newCounterparty: 'account' },
    approvals: [{ count: 1 }],
  },
  'Paid twice': { name: 'paid-twice', when: { lookalike: { days: 7 } }, hold: 'is it paid twice?' },
  Refuse: { name: 'no-wires', when: { rails: ['wire'] }, refuse: 'no wires' },
} as const

/** A name that no policy has yet: `large`, then `large-2`. */
function findFreeName(wanted: string, policies: readonly Record<string, unknown>[]): string {
  let name = wanted
  for (let at = 2; policies.some((one) => one['name'] === name); at += 1) name = `${wanted}-${at}`
  return name
}

/** Edits all policies as one text, says in words what it means, and sets it in place of the version that somebody began with, and of no other. */
export function PolicyEditor({
  begun,
  newest,
  onBegin,
  onClose,
}: {
  readonly begun: Current
  /** As they are now: where it is another version, nothing can be set before somebody has seen it. */
  readonly newest: Current
  readonly onBegin: (current: Current) => void
  readonly onClose: () => void
}) {
  const before = JSON.stringify(begun.policies, null, 2)
  const [text, setText] = useState(before)
  const [isAsking, ask] = useState(false)
  const { policies, problem } = readPolicies(text)
  const change = policies === undefined ? undefined : describeChange(begun.policies, policies)
  const isOvertaken = newest.version !== begun.version
  const overtaken = isOvertaken ? <Overtaken begun={begun} newest={newest} /> : undefined
  const add = (template: { readonly name: string }) => {
    const name = findFreeName(template.name, policies ?? [])
    setText(JSON.stringify([...(policies ?? []), { ...template, name }], null, 2))
  }
  return (
    <Panel
      title={`In place of version ${begun.version}`}
      actions={Object.entries(templates).map(([label, template]) => (
        <button
          key={label}
          type="button"
          className="button"
          disabled={policies === undefined}
          onClick={() => add(template)}
        >
          + {label}
        </button>
      ))}
    >
      {isOvertaken ? (
        <>
          {overtaken}
          <div className="actions">
            <button type="button" className="button" onClick={() => onBegin(newest)}>
              Begin again with version {newest.version}
            </button>
            <span className="muted">Your text stays; it says then what it changes of that version.</span>
          </div>
        </>
      ) : null}
      <div className="columns">
        <label className="field">
          <span>Policies, as JSON</span>
          <textarea
            className="editor"
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <div>
          <h3>What it means</h3>
          {change === undefined ? null : <p>{change}</p>}
          {policies === undefined ? (
            <p className="changed" role="status">
              {problem}
            </p>
          ) : policies.length === 0 ? (
            <p>Nothing is held or refused any more.</p>
          ) : (
            <ul className="plain">
              {policies.map((policy) => (
                <li key={String(policy['name'])}>
                  <strong>{String(policy['name'])}</strong>: when {describeConditions(policy as PolicyData)},{' '}
                  {describeConsequence(policy as PolicyData).words}.
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
      {policies === undefined ? null : <Trial policies={policies} version={begun.version} />}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Back
        </button>
        <button
          type="button"
          className="button primary"
          disabled={policies === undefined || text === before || isOvertaken}
          onClick={() => ask(true)}
        >
          Set them …
        </button>
      </div>
      <ActionDialog
        onClose={() => ask(false)}
        action={
          !isAsking || policies === undefined
            ? undefined
            : {
                ...{ title: 'Set the policies', verb: 'Set them', isDangerous: policies.length === 0 },
                isReady: !isOvertaken,
                effect: (
                  <p>
                    All policies are replaced, from the commit on. {change} Where somebody has set others since version{' '}
                    {begun.version}, nothing is done.
                  </p>
                ),
                async run(reason) {
                  const done = await setPolicies(policies, begun.version, reason)
                  onClose()
                  return done
                },
              }
        }
      >
        {overtaken}
      </ActionDialog>
    </Panel>
  )
}

/** Says who has set other policies meanwhile, and what these are. */
const Overtaken = ({ begun, newest }: { readonly begun: Current; readonly newest: Current }) => (
  <div className="banner stack" role="status">
    <strong>
      {newest.actor ?? 'Somebody'} has set version {newest.version} <Moment at={newest.setAt} />
      {newest.reason === null ? '' : `: ${newest.reason}`}
    </strong>
    <span>{describeChange(begun.policies, newest.policies)}</span>
  </div>
)
