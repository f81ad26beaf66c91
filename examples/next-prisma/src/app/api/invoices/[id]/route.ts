import { answer, Refusal } from '../../../../answer.ts'
import { host } from '../../../../host.ts'

/** Shows an invoice. */
export async function GET(_request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  return answer(async () => {
    const invoice = await host().prisma.invoice.findUnique({ where: await params })
    if (invoice === null) throw new Refusal(404, 'There is no such invoice.')
    return Response.json({ ...invoice, amount: invoice.amount.toFixed(2) })
  })
}
