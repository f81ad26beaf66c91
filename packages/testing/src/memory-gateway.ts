import type {
  ExternalAddressRequest,
  Gateway,
  Observation,
  RegisterResult,
  Registration,
  Submission,
  SubmitResult,
  TransferStatus,
} from '@outlay/core'

/** An answer of a test instead of the usual one; `undefined` accepts the transfer. */
export type AnswerScript = (submission: Submission) => SubmitResult | undefined | Promise<SubmitResult | undefined>

/** The same for a registration. */
export type RegistrationScript = (
  registration: Registration,
) => RegisterResult | undefined | Promise<RegisterResult | undefined>

/** A money-movement service in memory. A submission takes effect once per account and key. Tests script its failures. */
export interface MemoryGateway extends Gateway {
  /** Every submission in the order of arrival, repeats included. */
  readonly submissions: readonly Submission[]
  /** Transfers in effect, by remote id. */
  readonly transfers: ReadonlyMap<string, { readonly submission: Submission; readonly status: TransferStatus }>
  /** Every registration in the order of arrival, repeats included. */
  readonly registrations: readonly Registration[]
  /** Counterparties in effect, by the id of their address. */
  readonly addresses: ReadonlyMap<string, ExternalAddressRequest>
  /** Answers before a registration takes effect. */
  scriptRegistration(answer: RegistrationScript): void
  /** Answers after a registration took effect. */
  scriptAfterRegistration(answer: RegistrationScript): void
  /** Answers before the transfer takes effect. */
  script(answer: AnswerScript): void
  /** Answers after the transfer took effect, such as with a lost answer. */
  scriptAfter(answer: AnswerScript): void
  /** Changes the status of a transfer, for the next poll. */
  setStatus(remoteId: string, status: TransferStatus, failure?: Observation['failure']): void
}

/** Options of {@link memoryGateway}. */
export interface MemoryGatewayOptions {
  /** Status of a newly accepted transfer. Default `complete`. */
  readonly status?: TransferStatus | undefined
  /** Prefix of the ids of its transfers. Two services for one account need different ones. Default `remote`. */
  readonly idPrefix?: string | undefined
}

/** Makes a service in memory. */
export function memoryGateway(options: MemoryGatewayOptions = {}): MemoryGateway {
  const submissions: Submission[] = []
  const byKey = new Map<string, string>()
  const transfers = new Map<
    string,
    { submission: Submission; status: TransferStatus; failure: Observation['failure'] }
  >()
  const { register, ...counterparties } = createCounterparties()
  let before: AnswerScript = () => undefined
  let after: AnswerScript = () => undefined

  const observe = (remoteId: string): Observation | undefined => {
    const transfer = transfers.get(remoteId)
    return transfer === undefined ? undefined : { remoteId, status: transfer.status, failure: transfer.failure }
  }
  const accept = (submission: Submission): SubmitResult => {
    const key = `${submission.accountId}\n${submission.idempotencyKey}`
    const remoteId = byKey.get(key) ?? `${options.idPrefix ?? 'remote'}-${byKey.size + 1}`
    if (!byKey.has(key)) {
      byKey.set(key, remoteId)
      transfers.set(remoteId, { submission, status: options.status ?? 'complete', failure: null })
    }
    return { outcome: 'accepted', remoteId, observation: observe(remoteId) }
  }
  return {
    ...counterparties,
    registerAddress: register,
    submissions,
    transfers,
    script: (answer) => {
      before = answer
    },
    scriptAfter: (answer) => {
      after = answer
    },
    setStatus(remoteId, status, failure = null) {
      const transfer = transfers.get(remoteId)
      if (transfer === undefined) throw new Error(`The gateway has no transfer ${remoteId}.`)
      transfers.set(remoteId, { ...transfer, status, failure })
    },
    async submit(submission) {
      submissions.push(submission)
      const refusal = await before(submission)
      if (refusal !== undefined) return refusal
      const accepted = accept(submission)
      return (await after(submission)) ?? accepted
    },
    async get(_accountId, remoteId) {
      return observe(remoteId)
    },
  }
}

/** The counterparties of a service in memory. */
function createCounterparties() {
  const registrations: Registration[] = []
  const addresses = new Map<string, ExternalAddressRequest>()
  const byKey = new Map<string, string>()
  let before: RegistrationScript = () => undefined
  let after: RegistrationScript = () => undefined
  return {
    registrations,
    addresses,
    scriptRegistration(answer: RegistrationScript) {
      before = answer
    },
    scriptAfterRegistration(answer: RegistrationScript) {
      after = answer
    },
    async register(registration: Registration): Promise<RegisterResult> {
      registrations.push(registration)
      const refusal = await before(registration)
      if (refusal !== undefined) return refusal
      const key = `${registration.accountId}\n${registration.idempotencyKey}`
      const addressId = byKey.get(key) ?? `address-${byKey.size + 1}`
      byKey.set(key, addressId)
      addresses.set(addressId, registration.address)
      return (await after(registration)) ?? { outcome: 'accepted', addressId }
    },
  }
}
