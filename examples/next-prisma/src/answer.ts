import { OutlayError } from '@outlay/core'

/** A request breaks a rule of the company. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Runs a route handler, and turns its errors into answers. */
export async function answer(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return Response.json({ message: error.message }, { status: error.status })
    if (error instanceof SyntaxError) return Response.json({ message: 'The body is not JSON.' }, { status: 400 })
    // A refusal that names a field is the caller's error. Any other error is ours.
    if (OutlayError.is(error) && error.field !== undefined) {
      return Response.json({ code: error.code, field: error.field, message: error.message }, { status: 422 })
    }
    console.error(error)
    return Response.json({ message: 'Something went wrong here.' }, { status: 500 })
  }
}
