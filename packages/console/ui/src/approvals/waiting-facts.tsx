import type { Answer } from '../api/client.ts'
import { Moment } from '../parts/format.tsx'

type Transfer = Answer<'GET /approvals'>['approvals'][number]['transfer']

/** What sets a transfer apart from others of the same amount: its key, from when on it is sent, and until when. */
export function WaitingFacts({ of: { id, idempotencyKey, notBefore, expiresAt } }: { readonly of: Transfer }) {
  const isLate = expiresAt !== null && Date.parse(expiresAt) <= Date.now()
  return (
    <>
      {idempotencyKey === id ? null : <span className="muted">{idempotencyKey} </span>}
      {notBefore === null ? null : (
        <span className="muted">
          not sent before <Moment at={notBefore} brief />{' '}
        </span>
      )}
      {expiresAt === null ? null : (
        <span className={isLate ? 'changed' : 'muted'}>
          {isLate ? 'expired since' : 'expires'} <Moment at={expiresAt} brief />{' '}
        </span>
      )}
    </>
  )
}
