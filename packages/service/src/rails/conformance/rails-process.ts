import { onTestFinished, vi } from 'vitest'
import type {
  RailFact,
  RailFactListener,
  RailInstruction,
  RailPayment,
  Rails,
  VirtualAccountListener,
} from '../port.ts'
import type { RailsSubject } from './rails-subject.ts'

/** One process that has started the rails; it stops them when the case ends. */
export interface RailsProcess {
  readonly rails: Rails
  /** Reported facts, in order, with repeats. */
  readonly reported: readonly RailFact[]
  /** Submits until the rail has the payment, and resolves with the reference. */
  submit(instruction: RailInstruction): Promise<string>
  get(reference: string): Promise<RailPayment | undefined>
  /** Waits until the rails report a fact of this kind about a transfer. */
  waitFor(transferId: string, kind: RailFact['kind']): Promise<RailFact>
  /** Kinds of the reported facts of one transfer, without consecutive repeats. */
  kindsOf(transferId: string): readonly RailFact['kind'][]
}

/** The listeners of a process. */
export interface RailsListeners {
  /** Default: accepts everything. */
  readonly accept?: RailFactListener | undefined
  /** Default: accepts opened accounts, and returns deposits. */
  readonly virtualAccounts?: VirtualAccountListener | undefined
}

/** Starts the rails as a process does. */
export async function startProcess(subject: RailsSubject, listeners: RailsListeners = {}): Promise<RailsProcess> {
  const { accept = acceptAll, virtualAccounts = sendBack } = listeners
  const rails = await subject.connect()
  onTestFinished(() => rails.stop())
  const reported: RailFact[] = []
  await rails.start((facts) => {
    reported.push(...facts)
    return accept(facts)
  }, virtualAccounts)
  return {
    rails,
    reported,
    submit: (instruction) => eventually(subject, async () => referenceOf(await rails.submit(instruction, signalled()))),
    get: (reference) => rails.get(reference, signalled()),
    waitFor: (transferId, kind) =>
      eventually(subject, () => {
        const fact = reported.find((one) => one.transferId === transferId && one.kind === kind)
        if (fact === undefined) throw new Error(`The transfer ${transferId} was not reported as ${kind}.`)
        return fact
      }),
    kindsOf: (transferId) => {
      const kinds = reported.filter((fact) => fact.transferId === transferId).map(({ kind }) => kind)
      return kinds.filter((kind, index) => kind !== kinds[index - 1])
    },
  }
}

/** Retries until the probe does not throw, up to the subject's `patienceMs`. */
export function eventually<T>(subject: RailsSubject, probe: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(probe, { timeout: subject.patienceMs ?? 30_000, interval: 20 })
}

/** Accepts every fact. */
export const acceptAll: RailFactListener = async (facts) => new Set(facts.map(({ reference }) => reference))

/** The options of a call that is never aborted. */
export function signalled(): { readonly signal: AbortSignal } {
  return { signal: new AbortController().signal }
}

const sendBack: VirtualAccountListener = {
  opened: async () => undefined,
  deposited: async () => ({ outcome: 'returned', reason: 'No automation expects it' }),
}

function referenceOf(answer: Awaited<ReturnType<Rails['submit']>>): string {
  if ('reference' in answer) return answer.reference
  throw new Error(`The submission was answered with ${answer.outcome}: ${answer.detail}`)
}
