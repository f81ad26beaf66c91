import type { Answer } from '../api/client.ts'
import { CountField, LinesField, Wrong } from '../parts/fields.tsx'
import {
  type Json,
  moveUp,
  problemsAt,
  problemsBeside,
  problemsOfLines,
  type RuleProblem,
  readObject,
  readTexts,
  withMember,
} from '../rules/rule-json.ts'

/** How many have to approve, from which roles, and in which order. */
export function ApprovalSteps({
  policy,
  problems,
  choices: { mostSteps, mostApprovals },
  onChange,
}: {
  readonly policy: Json
  readonly problems: readonly RuleProblem[]
  readonly choices: Answer<'GET /policies/choices'>
  readonly onChange: (policy: Json) => void
}) {
  const steps = Array.isArray(policy['approvals']) ? policy['approvals'].map(readObject) : []
  const setSteps = (next: readonly Json[]) => {
    const changed = withMember(policy, 'approvals', next)
    return onChange(next.length < 2 ? withMember(changed, 'inOrder', undefined) : changed)
  }
  const setStep = (at: number, name: string, value: unknown) =>
    setSteps(steps.map((step, place) => (place === at ? withMember(step, name, value) : step)))
  return (
    <div className="stack">
      <ol className="steps">
        {steps.map((step, at) => {
          const path = `approvals.${at}`
          const name = steps.length === 1 ? 'Approval' : `Step ${at + 1}`
          return (
            <li key={path}>
              <fieldset className="step">
                <legend>{name}</legend>
                <CountField
                  label="How many"
                  hint={`1 to ${mostApprovals}; 1 when left empty`}
                  value={step['count']}
                  errors={problemsAt(problems, `${path}.count`)}
                  onChange={(count) => setStep(at, 'count', count)}
                />
                <LinesField
                  label="From these roles, one a line"
                  hint="Leave empty for anybody but the creator"
                  lines={readTexts(step['roles'])}
                  errors={problemsOfLines(problems, `${path}.roles`)}
                  onChange={(roles) => setStep(at, 'roles', roles.length === 0 ? undefined : roles)}
                />
                {steps.length < 2 ? null : (
                  <div className="actions">
                    {at === 0 ? null : (
                      <button type="button" className="button" onClick={() => setSteps(moveUp(steps, at))}>
                        Step {at + 1} up
                      </button>
                    )}
                    <button
                      type="button"
                      className="button"
                      onClick={() => setSteps(steps.filter((_, place) => place !== at))}
                    >
                      Remove step {at + 1}
                    </button>
                  </div>
                )}
              </fieldset>
              <Wrong
                of={problemsBeside(
                  problems.filter((one) => one.path === path || one.path.startsWith(`${path}.`)),
                  [`${path}.count`, `${path}.roles`],
                )}
              />
            </li>
          )
        })}
      </ol>
      <div className="actions">
        {steps.length >= mostSteps ? null : (
          <button type="button" className="button" onClick={() => setSteps([...steps, { count: 1 }])}>
            Add a step
          </button>
        )}
        {steps.length < 2 ? null : (
          <label className="check">
            <input
              type="checkbox"
              checked={policy['inOrder'] === true}
              onChange={({ target }) => onChange(withMember(policy, 'inOrder', target.checked ? true : undefined))}
            />
            In this order: a step opens when those before it are done
          </label>
        )}
      </div>
      <Wrong of={[...problemsAt(problems, 'approvals'), ...problemsAt(problems, 'inOrder')]} />
    </div>
  )
}
