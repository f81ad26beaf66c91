import { Tabs } from '@base-ui/react/tabs'
import { useState } from 'react'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { Wrong } from '../parts/fields.tsx'
import { capitalize, Moment } from '../parts/format.tsx'
import { Panel } from '../parts/page.tsx'
import { Read } from '../parts/states.tsx'
import { describeChange } from './changes.ts'
import { type DraftProblems, useDraft, useProblems } from './draft.ts'
import { problemsBeside } from './rule-json.ts'
import type { RuleKind, RuleVersion } from './rule-kind.ts'
import { RuleList } from './rule-list.tsx'

/** Edits all policies or limits as a form or as JSON, says in words what they mean, and sets them in place of the version that somebody began with, and of no other. */
export function DraftEditor<C extends { readonly zones: readonly string[] }>({
  kind,
  begun,
  newest,
  onBegin,
  onClose,
}: {
  readonly kind: RuleKind<C>
  readonly begun: RuleVersion
  /** As they are now: where it is another version, nothing can be set before somebody has seen it. */
  readonly newest: RuleVersion
  readonly onBegin: (current: RuleVersion) => void
  readonly onClose: () => void
}) {
  const draft = useDraft(begun.list)
  const { list } = draft
  const problems = useProblems(draft.rules, kind.nouns, begun.version)
  const [isAsking, ask] = useState(false)
  const change = list === undefined ? undefined : describeChange(begun.list, list)
  const isOvertaken = newest.version !== begun.version
  const overtaken = isOvertaken ? <Overtaken begun={begun} newest={newest} /> : undefined
  return (
    <Panel title={begun.version === 0 ? 'The first version' : `In place of version ${begun.version}`}>
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
      <Written {...{ kind, draft, problems }} />
      <Wrong of={problems?.general ?? []} />
      {change === undefined ? null : <p>{change}</p>}
      {list === undefined || kind.Trial === undefined ? null : <kind.Trial list={list} version={begun.version} />}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Back
        </button>
        <button
          type="button"
          className="button primary"
          disabled={list === undefined || change === undefined || isOvertaken}
          onClick={() => ask(true)}
        >
          Set them …
        </button>
      </div>
      <ActionDialog
        onClose={() => ask(false)}
        action={
          !isAsking || list === undefined
            ? undefined
            : {
                ...{ title: `Set the ${kind.nouns}`, verb: 'Set them', isDangerous: list.length === 0 },
                isReady: !isOvertaken,
                effect: (
                  <p>
                    All {kind.nouns} are replaced, from the commit on. {change} {kind.afterwards} Where somebody has set
                    others since version {begun.version}, nothing is done.
                  </p>
                ),
                async run(reason) {
                  const { version } = await kind.set(list, begun.version, reason)
                  onClose()
                  return `Version ${version} holds now.`
                },
              }
        }
      >
        {overtaken}
      </ActionDialog>
    </Panel>
  )
}

/** The draft as a form and as JSON. */
function Written<C extends { readonly zones: readonly string[] }>({
  kind,
  draft,
  problems,
}: {
  readonly kind: RuleKind<C>
  readonly draft: ReturnType<typeof useDraft>
  readonly problems: DraftProblems | undefined
}) {
  const choices = kind.useChoices()
  return (
    <Tabs.Root defaultValue="form">
      <Tabs.List className="segments" aria-label={`How the ${kind.nouns} are written`}>
        <Tabs.Tab value="form" disabled={draft.problem !== undefined}>
          Form
        </Tabs.Tab>
        <Tabs.Tab value="json">JSON</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="form" className="tab" keepMounted>
        <Read of={choices} what={`Reading what ${kind.nouns} may be`}>
          {(found) => <RuleList {...{ kind, draft, problems }} choices={found} />}
        </Read>
      </Tabs.Panel>
      <Tabs.Panel value="json" className="columns tab">
        <label className="field">
          <span>{capitalize(kind.nouns)}, as JSON</span>
          <textarea
            className="editor"
            spellCheck={false}
            value={draft.text}
            onChange={(event) => draft.write(event.target.value)}
          />
        </label>
        <div>
          <Wrong of={draft.problem === undefined ? [] : [draft.problem]} />
          {draft.rules.map((rule) => (
            <div key={rule.key} className="meaning">
              <kind.Meaning json={rule.json} />
              <Wrong of={problemsBeside(problems?.byRule.get(rule.key) ?? [], [])} />
            </div>
          ))}
        </div>
      </Tabs.Panel>
    </Tabs.Root>
  )
}

/** Says who has set others meanwhile, and what these are. */
const Overtaken = ({ begun, newest }: { readonly begun: RuleVersion; readonly newest: RuleVersion }) => (
  <div className="banner stack" role="status">
    <strong>
      {newest.actor ?? 'Somebody'} has set version {newest.version} <Moment at={newest.setAt} />
      {newest.reason === null ? '' : `: ${newest.reason}`}
    </strong>
    <span>{describeChange(begun.list, newest.list)}</span>
  </div>
)
