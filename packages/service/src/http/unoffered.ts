import { OutlayError } from '@outlay/core'

/** Operations of the public contract whose bodies are described nowhere, with what to do instead. */
const unoffered = [
  {
    methods: ['POST', 'PUT'],
    path: /\/accounts\/[^/]+\/(verification\/)?documents(\/|$)/,
    message:
      'This service takes no documents. What its reviewer needs beside the registration is handed over outside of this API.',
  },
  {
    methods: ['POST'],
    path: /\/tokens\/(mints|burns|transfers)\/?$/,
    message:
      'Nothing is created at this path. Send POST /accounts/{account_id}/transfers; this path lists what it does to tokens.',
  },
] as const

/** The refusal of a request that no route takes: `unsupported_flow` for an operation that other services have, else `not_found`. */
export function refuseUnrouted(method: string, path: string): OutlayError {
  const known = unoffered.find((one) => (one.methods as readonly string[]).includes(method) && one.path.test(path))
  return known === undefined
    ? new OutlayError('not_found', 'Nothing exists at this path.')
    : new OutlayError('unsupported_flow', known.message)
}
