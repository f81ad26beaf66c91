import { ActorName } from './actor-name.ts'

/** One step of an approval. */
export interface ApprovalStep {
  /** Approvals that it takes, from 1 to 10. Default 1. */
  readonly count?: number | undefined
  /** The approver has one of these roles. Default: anybody. */
  readonly roles?: readonly string[] | undefined
}

/** What has to be approved before a transfer is sent. */
export interface ApprovalRequirement {
  readonly steps: readonly ApprovalStep[]
  /** True where a step opens when those before it have all their approvals. */
  readonly inOrder: boolean
}

/** Somebody's approval of a transfer. */
export interface Approval {
  readonly actor: string
  /** The roles that the host said the actor has. */
  readonly roles: readonly string[]
  readonly note?: string | undefined
  /** ISO 8601, UTC. */
  readonly at: string
}

/** Who created a transfer, and those in whose place it was resubmitted. */
interface Created {
  readonly createdBy: string | null
  readonly earlierCreators?: readonly string[] | undefined
}

type Approver = Pick<Approval, 'actor' | 'roles'>

const fits = ({ roles }: ApprovalStep, approver: Approver): boolean =>
  roles === undefined || roles.some((role) => approver.roles.includes(role))

/** One place for each approval that the steps take. */
const placesOf = ({ steps }: ApprovalRequirement): readonly ApprovalStep[] =>
  steps.flatMap((step) => Array<ApprovalStep>(step.count ?? 1).fill(step))

/**
 * The places that nobody has yet. Nobody has two of them: somebody who approves again counts anew, where that leaves fewer open, as of
 * who took the first step of an order before others could.
 */
function openPlaces(requirement: ApprovalRequirement, approvers: readonly Approver[]): readonly ApprovalStep[] {
  let counted: readonly Approver[] = []
  let open = placesOf(requirement)
  for (const approver of approvers) {
    const others = counted.filter(({ actor }) => !ActorName.areSame(actor, approver.actor))
    const next = [...others, approver]
    const left = leaveOpen(requirement, next)
    if (others.length < counted.length && left.length >= open.length) continue
    counted = next
    open = left
  }
  return open
}

/** The places that different people leave. Without an order, they are placed so that as few as possible stay open. */
function leaveOpen(requirement: ApprovalRequirement, approvers: readonly Approver[]): readonly ApprovalStep[] {
  const places = placesOf(requirement)
  if (requirement.inOrder) {
    let next = 0
    for (const approver of approvers) {
      const end = endOfStep(places, next)
      const found = places.slice(next, end).some((place) => fits(place, approver))
      if (found) next += 1
    }
    return places.slice(next)
  }
  const holders = new Map<number, Approver>()
  const place = (approver: Approver, tried: Set<number>): boolean => {
    for (const [at, step] of places.entries()) {
      if (tried.has(at) || !fits(step, approver)) continue
      tried.add(at)
      const holder = holders.get(at)
      if (holder !== undefined && !place(holder, tried)) continue
      holders.set(at, approver)
      return true
    }
    return false
  }
  for (const approver of approvers) place(approver, new Set())
  return places.filter((_, at) => !holders.has(at))
}

/** Where the step of the place ends: its places are next to each other, and each is the same step. */
function endOfStep(places: readonly ApprovalStep[], from: number): number {
  const end = places.findIndex((place, at) => at >= from && place !== places[from])
  return end === -1 ? places.length : end
}

/** A step of a later release may ask for more than this one knows. */
const isKnown = (requirement: unknown): boolean => {
  const { steps, inOrder, ...others } = (requirement ?? {}) as Partial<ApprovalRequirement>
  return (
    Array.isArray(steps) &&
    steps.length > 0 &&
    typeof inOrder === 'boolean' &&
    Object.keys(others).length === 0 &&
    steps.every(isKnownStep)
  )
}

const isKnownStep = (step: unknown): boolean => {
  const { count = 1, roles = ['any'], ...others } = (step ?? {}) as ApprovalStep
  const isCount = Number.isInteger(count) && count > 0
  const areRoles = Array.isArray(roles) && roles.length > 0 && roles.every((role) => typeof role === 'string')
  return isCount && areRoles && Object.keys(others).length === 0
}

/** Rules of approvals. */
export const Approval = {
  /** True where this release knows all that a stored requirement asks for. */
  isKnown,
  /** True for who created a held transfer, or one of those in whose place it was resubmitted. */
  isCreator: ({ createdBy, earlierCreators = [] }: Created, actor: string): boolean =>
    [createdBy, ...earlierCreators].some((one) => one !== null && ActorName.areSame(one, actor)),
  /** True when the names are those of one person: letter case, form, spaces, hyphens, apostrophes, invisible characters and letters that are drawn the same make no difference. */
  sameActor: ActorName.areSame,
  /** The steps that have not got all of their approvals, once for each that is missing; none when it is approved. */
  missing: openPlaces,
  /** True when one more approver brings the requirement nearer to its end. */
  counts: (requirement: ApprovalRequirement, approvals: readonly Approver[], approver: Approver): boolean =>
    openPlaces(requirement, [...approvals, approver]).length < openPlaces(requirement, approvals).length,
} as const
