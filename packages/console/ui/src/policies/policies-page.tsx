import { useState } from 'react'
import { type Answer, call } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import { useRead } from '../api/queries.ts'
import { Moment } from '../parts/format.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { PolicyEditor } from './policy-editor.tsx'
import { Meaning } from './rule-form.tsx'

/** The policies in words, their earlier versions, and a form that replaces them. */
export function PoliciesPage() {
  const may = useMay()
  const [version, showVersion] = useState<number>()
  // What somebody began with: the page goes on reading while they write.
  const [begun, begin] = useState<Answer<'GET /policies'>>()
  const policies = useRead('GET /policies', { query: version === undefined ? {} : { version } }, { keep: true })
  const found = policies.data
  const newest = useRead('GET /policies', { query: {} })
  return (
    <Page
      title="Policies"
      lead="Rules about transfers, judged when one is enqueued. What is held keeps its holds when they change."
      actions={
        may('configure') && newest.data !== undefined && begun === undefined ? (
          <button type="button" className="button primary" onClick={() => begin(newest.data)}>
            Change the policies
          </button>
        ) : undefined
      }
    >
      {begun !== undefined ? (
        <PolicyEditor begun={begun} newest={newest.data ?? begun} onBegin={begin} onClose={() => begin(undefined)} />
      ) : (
        <Read of={policies} what="Reading the policies">
          {(shown) => (
            <Panel
              isFlush
              title={shown.version === 0 ? 'No policies were ever set' : `Version ${shown.version}`}
              actions={<Versions newest={newest.data?.version ?? 0} shown={found?.version ?? 0} onShow={showVersion} />}
            >
              <List of={shown} />
            </Panel>
          )}
        </Read>
      )}
    </Page>
  )
}

function Versions({
  newest,
  shown,
  onShow,
}: {
  readonly newest: number
  readonly shown: number
  readonly onShow: (version: number | undefined) => void
}) {
  if (newest < 2) return null
  return (
    <>
      <button type="button" className="button" disabled={shown <= 1} onClick={() => onShow(shown - 1)}>
        Earlier
      </button>
      <button
        type="button"
        className="button"
        disabled={shown >= newest}
        onClick={() => onShow(shown + 1 >= newest ? undefined : shown + 1)}
      >
        Later
      </button>
    </>
  )
}

function List({ of: { policies, setAt, actor, reason, version } }: { readonly of: Answer<'GET /policies'> }) {
  return (
    <>
      {version === 0 ? null : (
        <p className="policy muted">
          <span>
            Set <Moment at={setAt} /> by {actor ?? 'nobody'}
            {reason === null ? '' : `: ${reason}`}
          </span>
        </p>
      )}
      {policies.length === 0 ? (
        <Empty title="Nothing is held or refused by a policy">Every transfer goes to the queue at once.</Empty>
      ) : (
        <ul>
          {policies.map((policy) => (
            <li key={String(policy['name'])} className="policy">
              <Meaning policy={policy} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Sets policies in place of a version. */
export async function setPolicies(
  policies: readonly Record<string, unknown>[],
  expectedVersion: number,
  reason: string,
): Promise<string> {
  const clear = policies.length === 0 ? { clear: true } : {}
  const { version } = await call('PUT /policies', {
    body: { policies: [...policies], expectedVersion, reason, ...clear },
  })
  return `Version ${version} holds now.`
}
