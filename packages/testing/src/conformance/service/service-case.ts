import type { ServiceSubject } from './subject.ts'

/** Sections of the specification, by their headings; a part of a long section comes after a colon. */
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
] as const

/** A section of the specification. */
export type SpecificationSection = (typeof specificationSections)[number]

/** What a case needs of the service beside its API. */
export type ServiceNeed =
  /** Money, time and outcomes at will: the routes below `/simulations`. */
  | 'simulations'
  /** A client that shares no account with the first. */
  | 'second'
  /** The specification leaves it open; the case tests how this project settled it. */
  | 'settled'

/** One thing that a service must do. */
export interface ServiceCase {
  readonly section: SpecificationSection
  /** A sentence; unique in the suite. */
  readonly name: string
  readonly needs: readonly ServiceNeed[]
  /** Rejects when the service does something else. */
  run(service: ServiceSubject): Promise<void>
}

/** How a case is written: what it does, with what it needs. */
export type CaseBody = ServiceCase['run'] & { readonly needs?: readonly ServiceNeed[] }

/** Makes the cases of a section from their names and bodies. */
export function cases(
  section: SpecificationSection,
  bodies: Readonly<Record<string, CaseBody>>,
): readonly ServiceCase[] {
  return Object.entries(bodies).map(([name, run]) => ({ section, name, needs: run.needs ?? [], run }))
}

/** Says what a case needs. */
export function needing(needs: readonly ServiceNeed[], run: ServiceCase['run']): CaseBody {
  return Object.assign((service: ServiceSubject) => run(service), { needs })
}
