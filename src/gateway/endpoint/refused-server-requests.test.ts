import { expect, test } from 'vitest'
import { textIn } from '../../../test/support/event-streams.ts'
import { openRelay } from '../../../test/support/relay.ts'

test.each(['stdio', 'http'] as const)(
  'an error with which an agent answers a request of a server over %s reaches the server whole, with its data',
  async (over) => {
    const { call, send } = await openRelay({ agent: 'legacy', server: 'legacy', over })
    const refusals = [
      { code: -1, message: 'The user is asleep', data: { until: '07:00', why: [null, 'ß'] } },
      { code: -32603, message: 'No', data: null },
      { code: 7, message: 'No data' },
    ]
    for (const error of refusals) {
      const elicit = call('elicit')
      const question = () => elicit.messages.find(({ method }) => method === 'elicitation/create')
      await expect.poll(question).toBeDefined()
      send({ id: question()?.id, error })
      expect(JSON.parse(textIn(await elicit.responded()))).toEqual({ refused: error })
    }
  },
)
