import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useMay } from '../api/permissions.ts'
import { Moment } from '../parts/format.tsx'
import { Panel } from '../parts/page.tsx'
import { Empty, Read } from '../parts/states.tsx'
import { DraftEditor } from './draft-editor.tsx'
import type { RuleKind, RuleVersion } from './rule-kind.ts'

/** What holds in words, its earlier versions, and a form that replaces it. */
export function Versions<C extends { readonly zones: readonly string[] }>({ kind }: { readonly kind: RuleKind<C> }) {
  const may = useMay()
  const [search] = useSearchParams()
  const [version, showVersion] = useState(Number(search.get('version')) || undefined)
  // What somebody began with: the page goes on reading while they write.
  const [begun, begin] = useState<RuleVersion>()
  const found = kind.useVersion(version)
  const newest = kind.useVersion()
  if (begun !== undefined)
    return (
      <DraftEditor
        {...{ kind, begun }}
        newest={newest.data ?? begun}
        onBegin={begin}
        onClose={() => begin(undefined)}
      />
    )
  return (
    <Read of={found} what={`Reading the ${kind.nouns}`}>
      {(shown) => (
        <Panel
          isFlush
          title={shown.version === 0 ? `No ${kind.nouns} were ever set` : `Version ${shown.version}`}
          actions={
            <>
              <Steps newest={newest.data?.version ?? 0} shown={shown.version} onShow={showVersion} />
              {may('configure') && newest.data !== undefined ? (
                <button type="button" className="button primary" onClick={() => begin(newest.data)}>
                  Change the {kind.nouns}
                </button>
              ) : null}
            </>
          }
        >
          <List kind={kind} of={shown} />
        </Panel>
      )}
    </Read>
  )
}

function Steps({
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

function List<C extends { readonly zones: readonly string[] }>({
  kind,
  of: { list, setAt, actor, reason, version },
}: {
  readonly kind: RuleKind<C>
  readonly of: RuleVersion
}) {
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
      {list.length === 0 ? (
        <Empty title={kind.empty} />
      ) : (
        <ul>
          {list.map((json) => (
            <li key={String(json['name'])} className="policy">
              <kind.Meaning json={json} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
