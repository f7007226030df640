import { expect, test } from 'vitest'
import { openTestService } from '../../../test/support/test-service.ts'
import { listLocks, runningInstance } from './find-running-instance.ts'

test.runIf(process.platform === 'linux')(
  'the running service is found although the list of locks, which the kernel gives in parts, lacks its lock twice',
  async () => {
    const { data, address } = await openTestService()
    const own = String(process.pid)
    const lists = [listLocks, listLocks].map((list) => () => list()?.filter(([, , , , pid]) => pid !== own))
    const locks = () => (lists.shift() ?? listLocks)()
    expect(runningInstance(data, locks)).toEqual({ pid: process.pid, address })
    expect(runningInstance(data, () => [])).toBeUndefined()
  },
)
