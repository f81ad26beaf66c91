import {
  evaluatePolicies,
  type KnownPayees,
  OutlayError,
  type Policy,
  type StoredTransfer,
  TransferFlow,
} from '@outlay/core'
import type { PayeeQuery } from '@outlay/core/adapter'
import { z } from 'zod'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import { route } from '../routing/route.ts'
import { draftSchema, readDraft } from './given.ts'

/** Most transfers that policies are tried with. */
const mostTried = 500

/** Ids that are shown of one policy. */
const sampleSize = 5

interface Caught {
  readonly policy: string
  readonly verdict: 'approval' | 'hold' | 'screen' | 'refuse'
}

/** What the hold of a policy is called. */
const verdicts = { approval: 'approval', limit: 'hold', screening: 'screen' } as const

/** What is asked about those whom transfers pay. Digests of payees are not kept beside transfers. */
const payeesOf = (policies: readonly Policy[], transfers: readonly StoredTransfer[]): PayeeQuery => ({
  named: [...new Set(policies.flatMap(({ when }) => when?.counterparties ?? []))],
  addressIds: [...new Set(transfers.flatMap(({ request }) => request.destination.addressId ?? []))],
  fingerprints: [...new Set(transfers.flatMap(({ request }) => request.destination.address?.fingerprint ?? []))],
  payees: [],
})

/** What policies would have asked for of a transfer; undefined for one that they cannot judge, as of another catalog. */
function judge(
  policies: readonly Policy[],
  { accountId, request, metadata, notBefore, createdAt }: StoredTransfer,
  { catalog }: ConsoleContext,
  payees: KnownPayees | undefined,
): readonly Caught[] | undefined {
  try {
    const { source, destination } = request
    // Whether it pays one of those that policies name is not known.
    if (payees !== undefined && destination.addressId === undefined)
      if (!payees.byFingerprint.has(destination.address?.fingerprint ?? '')) return undefined
    // What is given in full is no wallet of the service.
    const known = destination.address === undefined ? {} : ({ destination: 'external' } as const)
    const flow = TransferFlow.possible({ source, destination }, catalog, known)
    const facts = { now: new Date(createdAt), flow, catalog, payees }
    const verdict = evaluatePolicies(
      policies,
      { accountId, request, metadata: metadata ?? undefined, notBefore },
      facts,
    )
    if (verdict.refusal !== undefined) return [{ policy: verdict.refusal.policy, verdict: 'refuse' }]
    return verdict.holds.map(({ name, policy }) => ({ policy, verdict: verdicts[name] }))
  } catch (error) {
    if (OutlayError.is(error)) return undefined
    throw error
  }
}

function countByPolicy(judged: readonly { readonly id: string; readonly caught: readonly Caught[] }[]) {
  const counts = new Map<string, Caught & { readonly count: number; readonly sample: readonly string[] }>()
  for (const { id, caught } of judged) {
    for (const one of caught) {
      const { count, sample } = counts.get(one.policy) ?? { count: 0, sample: [] }
      counts.set(one.policy, { ...one, count: count + 1, sample: [...sample, id].slice(0, sampleSize) })
    }
  }
  return [...counts.values()].toSorted((a, b) => (a.policy < b.policy ? -1 : 1))
}

/** What was paid before a transfer is not what is known now. */
const asksHistory = ({ when = {} }: Policy): boolean =>
  when.newCounterparty !== undefined || when.lookalike !== undefined

const tryPolicies = route({
  id: 'tryPolicies',
  tag: 'Policies',
  method: 'post',
  path: '/policies/trial',
  summary: 'What policies would have asked for of the newest transfers; nothing is set',
  permission: 'configure',
  about: 'all',
  body: draftSchema,
  answer: component(
    'PolicyTrial',
    z.object({
      tried: z
        .int()
        .meta({ description: `The newest transfers, at most ${mostTried}, each at the time of its enqueue.` }),
      free: z.int().meta({ description: 'Those that no policy that was tried would have held or refused.' }),
      unjudged: z.int().meta({
        description:
          'Those whose names the catalog of the console does not know, and, where a policy names counterparties, those to a payee in full that is not registered yet.',
      }),
      untried: z.array(z.string()).meta({
        description:
          'Policies that were left out, since they ask about what was paid before: `newCounterparty` and `lookalike` are about the moment of an enqueue.',
      }),
      uncreated: z.object({ count: z.int(), sample: z.array(z.string()) }).meta({
        description:
          'Those that policies would have held, and that name no `createdBy`: an enqueue like theirs is refused with `missing_field`, since nobody knows who may not approve it.',
      }),
      since: z.string().nullable(),
      policies: z.array(
        z.object({
          policy: z.string(),
          verdict: z.enum(['approval', 'hold', 'screen', 'refuse']),
          count: z.int(),
          sample: z.array(z.string()),
        }),
      ),
    }),
  ),
  async handle({ context, body }) {
    const given = await readDraft(body, context)
    const policies = given.filter((policy) => !asksHistory(policy))
    const untried = given.filter(asksHistory).map(({ name }) => name)
    const { transfers } = await context.reads.transfers.find({ limit: mostTried })
    const query = payeesOf(policies, transfers)
    const payees = query.named.length === 0 ? undefined : await context.readPayees(query)
    const judged = transfers.flatMap((one) => {
      const caught = judge(policies, one, context, payees)
      return caught === undefined ? [] : [{ id: one.id, createdBy: one.createdBy, caught }]
    })
    const uncreated = judged.filter(
      ({ createdBy, caught }) => createdBy === undefined && caught.some(({ verdict }) => verdict !== 'refuse'),
    )
    return {
      untried,
      ...{
        tried: transfers.length,
        unjudged: transfers.length - judged.length,
        since: transfers.at(-1)?.createdAt ?? null,
      },
      uncreated: { count: uncreated.length, sample: uncreated.slice(0, sampleSize).map(({ id }) => id) },
      free: judged.filter(({ caught }) => caught.length === 0).length,
      policies: countByPolicy(judged),
    }
  },
})

/** Trials of policies. */
export const policyTrials = [tryPolicies] as const
