import { isJson } from './body.ts'
import { refusal } from './problem.ts'

/** The header that a program sends which is no page of the same origin. */
export const ownHeader = 'x-outlay-console'

/**
 * Refuses requests that a page of another site may have made its visitor's browser send. No answer has a header of CORS, so a page of
 * another origin can add neither a header of its own nor the media type of JSON.
 * @throws OutlayError `forbidden`, or `invalid_request` with the status 415
 */
export function checkSameOrigin(request: Request): void {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin' && site !== 'none')
    throw refusal(403, 'A page of another site sent this request.', 'forbidden')
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (!isJson(request)) throw refusal(415, 'An action is sent with the content type application/json.')
  if (site !== 'same-origin' && (request.headers.get(ownHeader) ?? '') === '')
    throw refusal(
      403,
      `An action needs the header "${ownHeader}", or a browser's page of the same origin.`,
      'forbidden',
    )
}
