import { randomBytes } from 'node:crypto'
import { commonHeaders } from '../http/answer.ts'

/** The script that brings the token of the link, which browsers send to no server, and forgets it. */
const script = `const token = location.hash.slice(1)
history.replaceState(null, '', '/login')
const say = (text) => { document.querySelector('p').textContent = text }
fetch('/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token }) }).then(
  (answer) => answer.ok ? location.replace('/') : say('This link was used, or is too old. Start "outlay console" again for another one.'),
  () => say('The console does not answer. Is it still running?'),
)`

/** Answers with the page that logs somebody in. It has nothing of anybody. */
export function answerLoginPage(): Response {
  const nonce = randomBytes(16).toString('base64')
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Outlay</title><p role="status">Logging in …</p><script nonce="${nonce}">${script}</script></html>`
  return new Response(body, {
    headers: {
      ...commonHeaders,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
  })
}
