import { z } from 'zod'
import { component } from '../component.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { judgeGateway } from './gateway-health.ts'

const listGateways = route({
  id: 'listGateways',
  tag: 'Operations',
  method: 'get',
  path: '/gateways',
  summary: 'Each gateway: whether transfers get through it, and why not',
  permission: 'read',
  about: 'all',
  answer: component(
    'Gateways',
    z.object({
      data: z.array(
        z.object({
          name: z.string(),
          state: z.enum(['healthy', 'troubled', 'unproven']),
          reason: foreignText.optional(),
          since: z.string().optional(),
          lastAnswerAt: z.string().optional().meta({ description: 'Within the last hour.' }),
          inFlight: z.int().meta({ description: 'Sent, or about to be, and not ended.' }),
          waiting: z.int().meta({ description: 'Still to be sent, without held and blocked ones.' }),
        }),
      ),
    }),
  ),
  async handle({ context: { reads, figures } }) {
    const facts = await figures('gateways', ({ inspection }) => inspection.gatewayFacts())
    const sending = await reads.sending()
    return { data: facts.map((one) => judgeGateway(one, sending)) }
  },
})

/** Gateways and their health. */
export const gatewayRoutes = [listGateways] as const
