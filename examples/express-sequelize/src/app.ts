import { OutlayError } from '@outlay/core'
import express, { type ErrorRequestHandler, type Express } from 'express'
import { correctDisbursement, disburseLoan, type Host, readLoan } from './loans.ts'

/** Builds the application. The engine need not run. */
export function createApp(host: Host): Express {
  const { engine } = host
  const app = express()

  // Before any JSON parser: the signature covers the received octets.
  app.post('/webhooks/outlay/:accountId', express.raw({ type: '*/*' }), async (request, response) => {
    const { body = '', headers, params } = request
    const { status } = await engine.webhook({ body, headers }, { accountId: params.accountId })
    response.status(status).end()
  })

  app.use(express.json())

  app.post('/loans/:id/disbursement', async (request, response) => {
    response.status(202).json(await disburseLoan(host, request.params.id))
  })

  app.put('/loans/:loanId/disbursements/:transferId/correction', async (request, response) => {
    const { bankId = '' } = (request.body ?? {}) as { bankId?: string }
    response.status(202).json(await correctDisbursement(host, { ...request.params, bankId }))
  })

  app.get('/loans/:id', async (request, response) => {
    response.json(await readLoan(host, request.params.id))
  })

  app.use(answerError)
  return app
}

const answerError: ErrorRequestHandler = (error: Error & { status?: number }, _request, response, _next) => {
  if (OutlayError.is(error, 'conflict')) {
    // It is too early to correct it, or it was corrected otherwise.
    response.status(409).json({ code: error.code, message: error.message })
  } else if (OutlayError.is(error) && error.field !== undefined) {
    // A refusal that names a field is the caller's error. Any other error is ours, unless it has a status.
    response.status(422).json({ code: error.code, field: error.field, message: error.message })
  } else if (error.status !== undefined) {
    response.status(error.status).json({ message: error.message })
  } else {
    console.error(error)
    response.status(500).json({ message: 'Something went wrong here.' })
  }
}
