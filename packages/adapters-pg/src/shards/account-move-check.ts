import { OutlayError } from '@outlay/core'
import type { MoveNode } from './account-move-node.ts'

/** The refusal of a move, of which nothing has happened or everything is taken back. `field` is what to change. */
export const moveRefused = (accountId: string, why: string, field = 'accountId'): OutlayError =>
  new OutlayError('conflict', `The account ${accountId} was not moved: ${why}`, { field })

/** The refusal by the signal of the caller. */
export const moveAborted = (accountId: string): OutlayError =>
  new OutlayError('aborted', `The move of the account ${accountId} was aborted, and nothing of it is left.`)

/**
 * Refuses a move between nodes of which one has what the other one lacks, before anything is written.
 * @throws OutlayError `conflict` with what to do
 */
export async function checkNodes(accountId: string, from: MoveNode, to: MoveNode): Promise<void> {
  const [here, there] = await Promise.all([from.describe(), to.describe()])
  const refuse = (why: string) => moveRefused(accountId, why)
  const both = `"${from.name}" and "${to.name}"`
  if (here.migrations !== there.migrations)
    throw refuse(`the nodes ${both} have other migrations; run migrate() on both.`)
  if (here.environment !== null && there.environment !== null && here.environment !== there.environment)
    throw refuse(`the node "${from.name}" is of ${here.environment} and "${to.name}" of ${there.environment}.`)
  for (const [name, { isFenced }] of [[from.name, here] as const, [to.name, there] as const])
    if (isFenced)
      throw refuse(
        `the node "${name}" may not send, since it is fenced or another database than before; reconcile it first.`,
      )
  if (here.stops !== there.stops)
    throw refuse(`the nodes ${both} have other stops of everything or of gateways; stop the same on both, or start it.`)
  for (const [name, { closed, role }] of [[from.name, here] as const, [to.name, there] as const])
    if (closed !== null)
      throw refuse(
        `the role "${role}" may not write the table ${closed} of "${name}"; move it as the role that owns the tables.`,
      )
  if (here.limits !== there.limits)
    throw refuse(
      `the nodes ${both} have other limits on sums; set the same on both, since those of its node hold for it.`,
    )
  if (here.policies !== there.policies)
    throw refuse(`the nodes ${both} have other policies; set the same on both, since those of its node hold for it.`)
  const lacking = here.subscriptions.find((one) => !there.subscriptions.includes(one))
  if (lacking !== undefined) {
    const [name] = lacking.split(' ')
    throw refuse(`the node "${to.name}" has no subscription "${name}" for the same events; start it there first.`)
  }
  for (const { reference } of [here, there])
    if (reference !== null)
      throw refuse(
        `the foreign key of ${reference} refers to a table of the engine, whose rows would go; drop it, and check it when you move your own rows.`,
      )
}
