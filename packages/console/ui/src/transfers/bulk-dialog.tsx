import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { capitalize, toWords, writeCount } from '../parts/format.tsx'
import { Said } from '../parts/states.tsx'
import { type Filter, partsOf, words } from './address-filter.ts'
import { SumList } from './totals.tsx'

/** What can be done with all transfers of a filter, and what it means. */
export const bulkVerbs = {
  hold: 'Nobody sends them until somebody releases them.',
  release: 'The hold of people ends, and what is blocked or waits returns to the queue with its own key.',
  cancel: 'They end as canceled. Their money has not moved, and will not.',
  approve: 'They are approved in your name. With their last approval they are sent.',
  reject: 'They end as canceled, with the reason rejected.',
} as const

/** An action on many. */
export type BulkVerb = keyof typeof bulkVerbs

/** Shows what an action on a filter would be about, and does it with exactly that. */
export function BulkDialog({
  verb,
  filter,
  onClose,
}: {
  readonly verb: BulkVerb | undefined
  readonly filter: Filter
  readonly onClose: () => void
}) {
  const preview = useQuery({
    queryKey: ['preview', verb, filter],
    queryFn: () => call(`POST /bulk/transfers/${verb ?? 'hold'}`, { body: { filter, dryRun: true } }),
    enabled: verb !== undefined,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const shown = preview.data
  return (
    <ActionDialog
      onClose={onClose}
      action={
        verb === undefined
          ? undefined
          : {
              title: `${capitalize(verb)} all transfers of this list`,
              effect: <p>{bulkVerbs[verb]} All of it is done in one transaction, or nothing.</p>,
              verb: shown === undefined ? capitalize(verb) : `${capitalize(verb)} ${writeCount(shown.count)}`,
              isDangerous: verb === 'cancel' || verb === 'reject',
              isReady: shown !== undefined && shown.count > 0 && shown.unfit === 0 && !preview.isFetching,
              async run(reason) {
                if (shown === undefined) throw new Error('Wait for the preview.')
                const expected = { count: shown.count, digest: shown.digest }
                const done = await call(`POST /bulk/transfers/${verb}`, { body: { filter, expected, reason } })
                const before =
                  done.unchanged === 0
                    ? ''
                    : ` ${writeCount(done.unchanged)} of them somebody held before: whoever ends that hold lets them go.`
                return `${capitalize(verb)}: done with ${writeCount(done.count)} transfers.${before} The audit has an entry.`
              },
            }
      }
    >
      <div className="preview">
        <p className="muted">
          {partsOf(filter)
            .map(([name, value]) => `${words[name] ?? name}: ${toWords(value)}`)
            .join(' · ') || 'No filter'}
        </p>
        {preview.error !== null ? (
          <div role="alert">
            <Said error={preview.error} />
          </div>
        ) : shown === undefined ? (
          <p role="status">Counting …</p>
        ) : (
          <>
            <p>
              <strong>{writeCount(shown.count)}</strong> {shown.count === 1 ? 'transfer' : 'transfers'} of{' '}
              {writeCount(shown.accounts)} {shown.accounts === 1 ? 'account' : 'accounts'}
            </p>
            <SumList totals={shown.totals} />
            {shown.unfit === 0 ? null : (
              <p className="changed" role="status">
                {shown.unfit === shown.count ? 'None of them is' : `${writeCount(shown.unfit)} of them are not`} at a
                stage at which this can be done. Narrow the list by a stage, and begin again.
              </p>
            )}
            <details>
              <summary>The first {shown.sample.length}</summary>
              <ul className="mono">
                {shown.sample.map((id) => (
                  <li key={id}>{id}</li>
                ))}
              </ul>
            </details>
            <button type="button" className="link" onClick={() => void preview.refetch()}>
              Count again
            </button>
          </>
        )}
      </div>
    </ActionDialog>
  )
}
