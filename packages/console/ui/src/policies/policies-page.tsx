import { call } from '../api/client.ts'
import { useRead } from '../api/queries.ts'
import { Page } from '../parts/page.tsx'
import type { RuleKind } from '../rules/rule-kind.ts'
import { Versions } from '../rules/versions.tsx'
import { Trial } from './policy-trial.tsx'
import { Meaning, type PolicyChoices, RuleForm } from './rule-form.tsx'

const kind: RuleKind<PolicyChoices> = {
  ...{ noun: 'policy', nouns: 'policies', isOrdered: true, empty: 'Nothing is held or refused by a policy' },
  afterwards: 'What is held keeps the holds that it has, and nothing that was enqueued before is judged again.',
  templates: {
    'Four eyes': { name: 'large', when: { amounts: { USD: { from: '10000' } } }, approvals: [{ count: 1 }] },
    'At night': {
      name: 'at-night',
      when: { time: { zone: 'Europe/Berlin', from: '20:00', to: '06:00' } },
      hold: 'somebody checks it in the morning',
    },
    'New payee': { name: 'new-payee', when: { newCounterparty: 'account' }, approvals: [{ count: 1 }] },
    'Paid twice': { name: 'paid-twice', when: { lookalike: { days: 7 } }, hold: 'is it paid twice?' },
    Screening: { name: 'screening', screen: 'the list of sanctions' },
    Refuse: { name: 'no-wires', when: { rails: ['wire'] }, refuse: 'no wires' },
    'An empty one': { name: 'policy', approvals: [{ count: 1 }] },
  },
  useVersion: (version) =>
    useRead(
      'GET /policies',
      { query: version === undefined ? {} : { version } },
      { keep: true, select: ({ policies, ...others }) => ({ ...others, list: policies }) },
    ),
  useChoices: () => useRead('GET /policies/choices', {}),
  set: (list, expectedVersion, reason) => {
    const clear = list.length === 0 ? { clear: true } : {}
    return call('PUT /policies', { body: { policies: [...list], expectedVersion, reason, ...clear } })
  },
  Form: RuleForm,
  Meaning,
  Trial: ({ list, version }) => <Trial policies={list} version={version} />,
}

/** The policies in words, their earlier versions, and a form that replaces them. */
export const PoliciesPage = () => (
  <Page
    title="Policies"
    lead="Rules about transfers, judged when one is enqueued. What is held keeps its holds when they change."
  >
    <Versions kind={kind} />
  </Page>
)
