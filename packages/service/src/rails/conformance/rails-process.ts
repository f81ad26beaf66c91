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
  /** What was told, in order, with repeats. */
  readonly told: readonly RailFact[]
  /** Submits until the rail has it, and gives the reference. */
  submit(instruction: RailInstruction): Promise<string>
  get(reference: string): Promise<RailPayment | undefined>
  /** Waits until the payment of a transfer is told to be something. */
  hears(transferId: string, kind: RailFact['kind']): Promise<RailFact>
  /** What was told about one transfer, without repeats of the same. */
  kindsOf(transferId: string): readonly RailFact['kind'][]
}

/** Who listens in a process. */
export interface RailsListeners {
  /** Default: takes everything. */
  readonly take?: RailFactListener | undefined
  /** Default: lets accounts open, and sends deposits back. */
  readonly virtualAccounts?: VirtualAccountListener | undefined
}

/** Starts the rails as a process does. */
export async function startProcess(subject: RailsSubject, listeners: RailsListeners = {}): Promise<RailsProcess> {
  const { take = takeAll, virtualAccounts = sendBack } = listeners
  const rails = await subject.connect()
  onTestFinished(() => rails.stop())
  const told: RailFact[] = []
  await rails.start((facts) => {
    told.push(...facts)
    return take(facts)
  }, virtualAccounts)
  return {
    rails,
    told,
    submit: (instruction) => eventually(subject, async () => referenceOf(await rails.submit(instruction, signalled()))),
    get: (reference) => rails.get(reference, signalled()),
    hears: (transferId, kind) =>
      eventually(subject, () => {
        const fact = told.find((one) => one.transferId === transferId && one.kind === kind)
        if (fact === undefined) throw new Error(`The transfer ${transferId} was not told to be ${kind}.`)
        return fact
      }),
    kindsOf: (transferId) => {
      const kinds = told.filter((fact) => fact.transferId === transferId).map(({ kind }) => kind)
      return kinds.filter((kind, index) => kind !== kinds[index - 1])
    },
  }
}

/** Tries again until nothing is thrown, as long as the subject has patience. */
export function eventually<T>(subject: RailsSubject, probe: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(probe, { timeout: subject.patienceMs ?? 30_000, interval: 20 })
}

/** Takes every fact. */
export const takeAll: RailFactListener = async (facts) => new Set(facts.map(({ reference }) => reference))

/** The options of a call that nobody aborts. */
export function signalled(): { readonly signal: AbortSignal } {
  return { signal: new AbortController().signal }
}

const sendBack: VirtualAccountListener = {
  opened: async () => undefined,
  deposited: async () => ({ outcome: 'returned', reason: 'Nobody waits for it' }),
}

function referenceOf(answer: Awaited<ReturnType<Rails['submit']>>): string {
  if ('reference' in answer) return answer.reference
  throw new Error(`The submission was answered with ${answer.outcome}: ${answer.detail}`)
}
