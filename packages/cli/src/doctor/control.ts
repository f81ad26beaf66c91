import { type Engine, Policy } from '@outlay/core'
import { listSome } from '../output/list-some.ts'
import type { Session } from '../session/session.ts'
import { type Finding, serious } from './finding.ts'
import { diagnoseLimits } from './limits.ts'

/** What the rules about money are read with. */
export interface ExaminedControl {
  readonly engine: {
    readonly limits: Pick<Engine<unknown>['limits'], 'uses'>
    readonly policies: Pick<Engine<unknown>['policies'], 'get'>
  }
  readonly inspection: Pick<Session['inspection'], 'arePoliciesPrepared'>
}

/** Says what limits on sums hold, and which policies hold all that they are about. */
export const diagnoseControl = async (control: ExaminedControl): Promise<readonly Finding[]> => [
  ...(await diagnosePolicies(control)),
  ...(await diagnoseLimits(control)),
]

/** Finds policies about earlier transfers that cannot be judged. */
async function diagnosePolicies({ engine, inspection }: ExaminedControl): Promise<readonly Finding[]> {
  const { policies = [] } = (await engine.policies.get()) ?? {}
  const asking = policies.filter((one) => Policy.findUnprepared([one]).length > 0)
  if (asking.length === 0 || (await inspection.arePoliciesPrepared())) return []
  const names = listSome(asking.map(({ name }) => name))
  const what = `Policies ask about earlier transfers, and the indexes for that are not there, or not valid: ${names}. They apply to all that their other conditions are about.`
  const cure = 'Run "outlay policies prepare", as who migrates. What they have held meanwhile stays held.'
  return [serious('policies_unprepared', what, cure)]
}
