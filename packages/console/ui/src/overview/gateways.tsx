import { useQuery } from '@tanstack/react-query'
import { type Answer, call } from '../api/client.ts'
import { writeAge } from '../parts/format.tsx'
import { Panel } from '../parts/page.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { Badge, type Tone } from '../parts/status.tsx'

type State = Answer<'GET /gateways'>['data'][number]['state']

const tones: Readonly<Record<State, Tone>> = { healthy: 'good', troubled: 'bad', unproven: 'idle' }

/** How each gateway answers. */
export function Gateways() {
  const gateways = useQuery({
    queryKey: ['gateways'],
    queryFn: async ({ signal }) => (await call('GET /gateways', { signal })).data,
    refetchInterval: 60_000,
  })
  return (
    <Panel title="Gateways">
      {gateways.data === undefined ? (
        gateways.error === null ? (
          <Loading what="Reading the gateways" />
        ) : (
          <Failed error={gateways.error} />
        )
      ) : gateways.data.length === 0 ? (
        <p className="muted">No gateway has had a transfer yet.</p>
      ) : (
        <ul className="plain">
          {gateways.data.map(({ name, state, reason, since, lastAnswerAt, inFlight, waiting }) => (
            <li key={name} className="two-lines">
              <span>
                <Badge tone={tones[state]}>{state}</Badge> <strong>{name}</strong>
              </span>
              <span className="muted">
                {inFlight} under way, {waiting} waiting
                {lastAnswerAt === undefined ? '' : ` · last answer ${writeAge(lastAnswerAt)}`}
              </span>
              {reason === undefined ? null : (
                <span>
                  {reason} {since === undefined ? '' : `(${writeAge(since)})`}
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
