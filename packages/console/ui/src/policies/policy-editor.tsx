import { Tabs } from '@base-ui/react/tabs'
import { useState } from 'react'
import type { Answer } from '../api/client.ts'
import { useRead } from '../api/queries.ts'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { Wrong } from '../parts/fields.tsx'
import { Moment } from '../parts/format.tsx'
import { Panel } from '../parts/page.tsx'
import { Read } from '../parts/states.tsx'
import { type DraftProblems, type Rule, useDraft, useProblems } from './draft.ts'
import { setPolicies } from './policies-page.tsx'
import { Trial } from './policy-trial.tsx'
import { describeChange } from './policy-words.ts'
import { RulesForm } from './rules-form.tsx'

type Current = Answer<'GET /policies'>

/** Edits all policies as a form or as JSON, says in words what they mean, and sets them in place of the version that somebody began with, and of no other. */
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
  const draft = useDraft(begun.policies)
  const { policies, text, problem } = draft
  const problems = useProblems(draft.rules, begun.version)
  const choices = useRead('GET /policies/choices', {})
  const [isAsking, ask] = useState(false)
  const change = policies === undefined ? undefined : describeChange(begun.policies, policies)
  const isOvertaken = newest.version !== begun.version
  const overtaken = isOvertaken ? <Overtaken begun={begun} newest={newest} /> : undefined
  return (
    <Panel title={`In place of version ${begun.version}`}>
      {isOvertaken ? (
        <>
          {overtaken}
          <div className="actions">
            <button type="button" className="button" onClick={() => onBegin(newest)}>
              Begin again with version {newest.version}
            </button>
            <span className="muted">What you wrote stays; it says then what it changes of that version.</span>
          </div>
        </>
      ) : null}
      <Tabs.Root defaultValue="form">
        <Tabs.List className="segments" aria-label="How the policies are written">
          <Tabs.Tab value="form" disabled={problem !== undefined}>
            Form
          </Tabs.Tab>
          <Tabs.Tab value="json">JSON</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="form">
          <Read of={choices} what="Reading what policies may be">
            {(found) => <RulesForm draft={draft} problems={problems} choices={found} />}
          </Read>
        </Tabs.Panel>
        <Tabs.Panel value="json" className="stack">
          <label className="field">
            <span>Policies, as JSON</span>
            <textarea
              className="editor"
              spellCheck={false}
              value={text}
              onChange={(event) => draft.write(event.target.value)}
            />
          </label>
          <Wrong of={[problem ?? [], describeProblems(draft.rules, problems)].flat()} />
        </Tabs.Panel>
      </Tabs.Root>
      <Wrong of={problems?.general ?? []} />
      {change === undefined ? null : <p>{change}</p>}
      {policies === undefined ? null : <Trial policies={policies} version={begun.version} />}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Back
        </button>
        <button
          type="button"
          className="button primary"
          disabled={policies === undefined || change === undefined || isOvertaken}
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

/** What is wrong with each policy, by its name and member. */
const describeProblems = (rules: readonly Rule[], problems: DraftProblems | undefined): readonly string[] =>
  rules.flatMap(({ key, policy }, at) =>
    (problems?.byRule.get(key) ?? []).map(({ path, detail }) =>
      [String(policy['name'] ?? `entry ${at + 1}`), path, detail].filter((part) => part !== '').join(' '),
    ),
  )

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
