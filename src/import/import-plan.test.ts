import { expect, test } from 'vitest'
import { type Plan, plan } from './import-plan.ts'

const SAME = { id: 'notes', isSame: true }
const OTHER = { id: 'notes', isSame: false }

test.each<[string, Parameters<typeof plan>, Pick<Plan, 'outcome' | 'id'>]>([
  ['nothing registered is created', [{}, false], { outcome: 'created', id: null }],
  [
    'the same is unchanged, also with update',
    [{ existing: SAME }, true],
    { outcome: 'unchanged', id: 'notes' },
  ],
  ['another one exists', [{ existing: OTHER }, false], { outcome: 'exists', id: 'notes' }],
  ['another one is updated on request', [{ existing: OTHER }, true], { outcome: 'updated', id: 'notes' }],
  [
    'one of the other kind exists, also with update',
    [{ existing: { ...OTHER, isFixed: true } }, true],
    { outcome: 'exists', id: 'notes' },
  ],
  [
    'a problem refuses the candidate, whatever is registered',
    [{ problem: 'it has no command', existing: SAME }, true],
    { outcome: 'refused', id: null },
  ],
  [
    'a problem of an update refuses it with the id of the server',
    [{ existing: { ...OTHER, problem: 'it has no command' } }, true],
    { outcome: 'refused', id: 'notes' },
  ],
  [
    'a problem of an update does not matter without one',
    [{ existing: { ...OTHER, problem: 'it has no command' } }, false],
    { outcome: 'exists', id: 'notes' },
  ],
])('%s', (_, given, expected) => {
  expect(plan(...given)).toMatchObject(expected)
})
