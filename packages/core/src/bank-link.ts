import {
  closeInput,
  type Input,
  type Member,
  member,
  openInput,
  type ParseOptions,
  readText,
  refuse,
  type TextRule,
} from './input.ts'

/** Value of `event_type` in a notice of re-authentication. Specification: "Events". */
export const loginRequiredEventType = 'ITEM_LOGIN REQUIRED'

/** The request for a link token. Specification: "Bank-linking", 1. */
export interface LinkTokenRequest {
  readonly legalName?: string | undefined
  readonly emailAddress?: string | undefined
  readonly phoneNumber?: string | undefined
  /** YYYY-MM-DD. */
  readonly dateOfBirth?: string | undefined
}

/** The token that opens the provider's flow in the front end. */
export interface LinkToken {
  readonly linkToken: string
  /** ISO 8601, UTC; the token is invalid after it. */
  readonly expiration: string
  /** Where the public token goes after the flow. */
  readonly callbackUrl: string
}

/** The request that exchanges a public token for linked accounts. Specification: "Bank-linking", 3. */
export interface RegisterAccountRequest {
  readonly publicToken: string
  /** Gets notices of re-authentication. */
  readonly customerWebhookUrl?: string | undefined
}

/** The notice that a linked account needs its owner again. Specification: "Events". */
export interface LoginRequiredNotice {
  readonly reason: string
  /** ISO 8601, UTC. */
  readonly timestamp: string
  readonly eventType: typeof loginRequiredEventType
  readonly financialInstitutionId: string
}

const legalName = member('legalName')
const emailAddress = member('emailAddress')
const phoneNumber = member('phoneNumber')
const dateOfBirth = member('dateOfBirth')
const publicToken = member('publicToken')
const customerWebhookUrl = member('customerWebhookUrl')

const isDate = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

const isWebUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const readChecked = (
  input: Input,
  at: Member,
  is: (text: string) => boolean,
  message: string,
  rule: TextRule = {},
): string | undefined => {
  const text = readText(input, at, { optional: true, ...rule })
  return text === undefined || is(text) ? text : refuse(input, at, 'invalid_request', message)
}

/** Reads the body that asks for a link token: every member optional. Throws `invalid_request` with all issues. */
export const parseLinkTokenRequest = (body: unknown, options: ParseOptions = {}): LinkTokenRequest => {
  const input = openInput(body ?? {}, options)
  const name = readText(input, legalName, { optional: true })
  const email = readChecked(input, emailAddress, (text) => /^[^\s@]+@[^\s@]+$/.test(text), 'must be an e-mail address')
  const phone = readText(input, phoneNumber, { optional: true, max: 32 })
  const birth = readChecked(input, dateOfBirth, isDate, 'must be a date, YYYY-MM-DD')
  closeInput(input)
  return {
    ...(name === undefined ? {} : { legalName: name }),
    ...(email === undefined ? {} : { emailAddress: email }),
    ...(phone === undefined ? {} : { phoneNumber: phone }),
    ...(birth === undefined ? {} : { dateOfBirth: birth }),
  }
}

/** Reads the body that registers linked accounts. Throws `missing_field` or `invalid_request` with all issues. */
export const parseRegisterAccountRequest = (body: unknown, options: ParseOptions = {}): RegisterAccountRequest => {
  const input = openInput(body, options)
  const token = readText(input, publicToken)
  const url = readChecked(input, customerWebhookUrl, isWebUrl, 'must be an http or https URL', { max: 2048 })
  closeInput(input)
  if (token === undefined)
    throw new Error('parseRegisterAccountRequest: nothing was refused and something was not read')
  return { publicToken: token, ...(url === undefined ? {} : { customerWebhookUrl: url }) }
}
