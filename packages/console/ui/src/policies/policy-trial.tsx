import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call } from '../api/client.ts'
import { Moment, writeCount } from '../parts/format.tsx'
import { Said } from '../parts/states.tsx'
import { Badge } from '../parts/status.tsx'

const tones = { approval: 'busy', hold: 'warn', screen: 'warn', refuse: 'bad' } as const

/** Tries policies with the newest transfers, before they hold for any. */
export function Trial({
  policies,
  version,
}: {
  readonly policies: readonly Record<string, unknown>[]
  /** The version that they would replace. */
  readonly version: number
}) {
  const text = JSON.stringify([version, policies])
  const trial = useMutation({
    mutationFn: async () => {
      const body = { policies: [...policies], expectedVersion: version }
      return { text, said: await call('POST /policies/trial', { body }) }
    },
  })
  const said = trial.data?.text === text ? trial.data.said : undefined
  return (
    <div className="preview">
      <div className="actions">
        <button type="button" className="button" disabled={trial.isPending} onClick={() => trial.mutate()}>
          {trial.isPending ? 'Trying …' : 'Try them with past transfers'}
        </button>
        <span className="muted">Nothing is set by that.</span>
      </div>
      {trial.error === null ? null : (
        <div role="alert">
          <Said error={trial.error} />
        </div>
      )}
      {said === undefined ? null : (
        <div role="status" className="plain">
          <p>
            Of the newest {writeCount(said.tried)} transfers
            {said.since === null ? (
              ''
            ) : (
              <>
                , since <Moment at={said.since} />
              </>
            )}
            , {writeCount(said.free)} would have gone to the queue.
            {said.unjudged === 0 ? '' : ` ${writeCount(said.unjudged)} could not be judged.`}
            {said.untried.length === 0
              ? ''
              : ` Not tried, since that depends on what was paid before: ${said.untried.join(', ')}.`}
          </p>
          {said.uncreated.count === 0 ? null : (
            <p className="changed">
              {writeCount(said.uncreated.count)} of those that would be held have no creator, and would be{' '}
              <strong>refused</strong> instead: your application has to give <code>createdBy</code>. Such as{' '}
              <Samples of={said.uncreated.sample} />
            </p>
          )}
          <ul className="plain">
            {said.policies.map(({ policy, verdict, count, sample }) => (
              <li key={policy}>
                <Badge tone={tones[verdict]}>{verdict}</Badge> <strong>{policy}</strong> {writeCount(count)}, such as{' '}
                <Samples of={sample} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  )
}

const Samples = ({ of: ids }: { readonly of: readonly string[] }) =>
  ids.slice(0, 2).map((id) => (
    <Link key={id} href={`/transfers/${id}`} className="mono">
      {id}{' '}
    </Link>
  ))
