import type { ServiceSubject } from './subject.ts'

/**
 * Sections of the specification, by their headings; a part of a long section comes after a colon. The last two are about the public contract of
 * such services: where it agrees with the specification, and where it does not.
 */
export const specificationSections = [
  'What the service does',
  'Resources and their fields: Conventions',
  'Resources and their fields: Amount',
  'Resources and their fields: Account',
  'Resources and their fields: Address',
  'Resources and their fields: Transfer',
  'Resources and their fields: Wire instructions',
  'Resources and their fields: Automation',
  'Resources and their fields: Financial institution',
  'States and transitions: Transfer statuses',
  'States and transitions: Automation statuses',
  'States and transitions: Account statuses',
  'States and transitions: Financial institution status',
  'Endpoints: Transfers',
  'Endpoints: Accounts',
  'Endpoints: Addresses',
  'Endpoints: Automations',
  'Endpoints: Financial institutions',
  'Endpoints: Bank-linking',
  'Authentication',
  'Events',
  'Errors',
  'Limits',
  'Both contracts',
  'Public dialect',
] as const

/** A section of the specification. */
export type SpecificationSection = (typeof specificationSections)[number]

/** What a case needs besides the API of the service. */
export type ServiceNeed =
  /** Control of money, time and outcomes: the routes below `/simulations`. */
  | 'simulations'
  /** A client that shares no account with the first. */
  | 'second'
  /** The specification leaves it open. The case tests this project's decision. */
  | 'settled'
  /** A service that decides for the specification where the public contract contradicts it. */
  | 'specification'
  /** One that decides for the public contract. */
  | 'public'

/** One requirement of a service. */
export interface ServiceCase {
  readonly section: SpecificationSection
  /** A sentence; unique in the suite. */
  readonly name: string
  readonly needs: readonly ServiceNeed[]
  /** Rejects when the service does not meet it. */
  run(service: ServiceSubject): Promise<void>
}

/** The body of a case, with its needs. */
export type CaseBody = ServiceCase['run'] & { readonly needs?: readonly ServiceNeed[] }

/** Makes the cases of a section from their names and bodies. */
export function cases(
  section: SpecificationSection,
  bodies: Readonly<Record<string, CaseBody>>,
): readonly ServiceCase[] {
  return Object.entries(bodies).map(([name, run]) => ({ section, name, needs: run.needs ?? [], run }))
}

/** Declares the needs of a case. */
export function needing(needs: readonly ServiceNeed[], run: ServiceCase['run']): CaseBody {
  return Object.assign((service: ServiceSubject) => run(service), { needs })
}
