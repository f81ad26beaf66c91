import { answer, Refusal } from '../../../../../answer.ts'
import { host } from '../../../../../host.ts'

/** Pays an invoice out of the budget of its department. */
export async function POST(request: Request, { params }: { params: Promise<{ id: string }> }): Promise<Response> {
  const { prisma, engine, service } = host()
  return answer(async () => {
    const { id } = await params
    const { memo } = ((await request.json()) ?? {}) as { memo?: string }
    const paid = await prisma.$transaction(async (tx) => {
      const invoice = await tx.invoice.findUnique({ where: { id } })
      if (invoice === null) throw new Refusal(404, 'There is no such invoice.')

      // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
      const transfer = await engine.transfers.enqueue(tx, {
        accountId: service.accountId,
        idempotencyKey: `invoice/${id}`,
        amount: { value: invoice.amount.toFixed(2), currency: 'USD' },
        source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
        destination: { addressId: invoice.bankId, valueType: 'USD', transferType: 'wire', wireMemo: memo },
        note: `invoice ${id}`,
      })
      if (transfer.reused) return tx.invoice.findUniqueOrThrow({ where: { id } })

      // Then the host's rows. An error from here on rolls the payout back.
      await tx.invoice.updateMany({ where: { id }, data: { status: 'on_its_way', transferId: transfer.id } })
      const { count } = await tx.department.updateMany({
        where: { id: invoice.departmentId, budget: { gte: invoice.amount } },
        data: { budget: { decrement: invoice.amount } },
      })
      if (count === 0) throw new Refusal(409, 'The budget of the department is less than that.')
      return tx.invoice.findUniqueOrThrow({ where: { id } })
    })
    return Response.json({ ...paid, amount: paid.amount.toFixed(2) }, { status: 202 })
  })
}
